"""What S3 refuses for good: credentials, rights and clocks, told apart by the code of its answer."""

from __future__ import annotations

from lorebase.errors import RefusedError

_RIGHTS = "Check the key, the secret and the bucket's policy in the workspace file."
_RENEW = "Renew the credentials of the object store, then start again: what was finished is kept."
_CLOCK = "Set this machine's clock by NTP, then start again."
_BY_CODE = {
    "ExpiredToken": ("the credentials have expired", _RENEW),
    "ExpiredTokenException": ("the credentials have expired", _RENEW),
    "TokenRefreshRequired": ("the credentials have expired", _RENEW),
    "InvalidToken": ("the credentials are not valid", _RENEW),
    "InvalidAccessKeyId": ("it does not know the access key of the credentials", _RIGHTS),
    "SignatureDoesNotMatch": ("the secret of the credentials is wrong", _RIGHTS),
    "NoCredentials": ("there are no credentials", _RIGHTS),
    "AccessDenied": ("the credentials lack the right", _RIGHTS),
    "RequestTimeTooSkewed": ("this machine's clock differs too much from the store's", _CLOCK),
}
_REFUSED_STATUS = {401, 403}


def refusal(error: Exception, where: str, key: str) -> RefusedError | None:
    """The refusal that an error of a client stands for; None where trying again may help.

    Args:
        error: What boto3 or s3fs raised. s3fs raises errors of the operating system, caused by the client's.
        where: The store.
        key: The object.
    """
    code, status = _code_and_status(error)
    if code not in _BY_CODE and status not in _REFUSED_STATUS and not isinstance(error, PermissionError):
        return None
    reason, remedy = _BY_CODE.get(code, ("the credentials are refused", _RIGHTS))
    said = code or type(error).__name__
    return RefusedError(
        f"{where} refused access to {key!r}: {reason} ({said}).", remedy=remedy, dependency="object store", key=key
    )


def _code_and_status(error: Exception) -> tuple[str, int]:
    from botocore.exceptions import ClientError, NoCredentialsError  # noqa: PLC0415 (0.6 s; only stores on S3 need it)

    found = error if isinstance(error, ClientError) else error.__cause__
    if isinstance(found, ClientError):
        return str(found.response.get("Error", {}).get("Code", "")), _status(found)
    return ("NoCredentials" if isinstance(error, NoCredentialsError) else ""), 0


def _status(error: object) -> int:
    response = getattr(error, "response", {})
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
