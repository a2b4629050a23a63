"""Artifacts: manifests, partitions, ledger, snapshots, leases."""
