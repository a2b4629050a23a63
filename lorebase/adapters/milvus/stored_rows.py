"""A row as Milvus Lite 2.5.1 keeps it in its database: read, and switched, without a Milvus."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]  # ships no types
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # ships no types
from pymilvus.grpc_gen import schema_pb2  # type: ignore[import-untyped]  # ships no types

from lorebase.adapters.milvus.rows import Row, RowValue
from lorebase.adapters.milvus.schema import SCALAR_FIELDS

SWITCH = "searchable"


class UnknownLayoutError(Exception):
    """The database is not laid out as Milvus Lite 2.5.1 does it; never leaves the adapter, which asks Milvus then."""


class StoredRow:
    """One row."""

    def __init__(self, data: bytes) -> None:
        """Read a row.

        Raises:
            UnknownLayoutError: It is no row of ours, or writing it back would not give the very same bytes.
        """
        try:
            self._record = _insert_record().FromString(data)
        except DecodeError as error:
            raise UnknownLayoutError(str(error)) from error
        if self._record.num_rows != 1 or self._record.SerializeToString() != data:
            raise UnknownLayoutError
        self._fields = {field.field_name: field for field in self._record.fields_data}
        if not set(SCALAR_FIELDS) <= self._fields.keys():
            raise UnknownLayoutError

    @property
    def scalars(self) -> Row:
        """Its scalar fields, as a query answers them."""
        return {name: _value(self._fields[name]) for name in SCALAR_FIELDS}

    @property
    def searchable(self) -> bool:
        """Whether searches may return it."""
        return bool(_value(self._fields[SWITCH]))

    def switched(self, *, searchable: bool) -> bytes:
        """The row with nothing but that field changed."""
        self._fields[SWITCH].scalars.bool_data.data[0] = searchable
        data: bytes = self._record.SerializeToString()
        return data


def _value(field: Any) -> RowValue:  # noqa: ANN401 (a message without types)
    scalars = field.scalars
    kind = scalars.WhichOneof("data")
    if kind not in {"string_data", "long_data", "bool_data", "array_data"}:
        raise UnknownLayoutError
    values = getattr(scalars, kind).data
    if len(values) != 1:
        raise UnknownLayoutError
    value: RowValue = list(values[0].string_data.data) if kind == "array_data" else values[0]
    return value


@cache
def _insert_record() -> Any:  # noqa: ANN401 (made at run time)
    """The message `milvus.proto.segcore.InsertRecord`: the fields of a row and how many rows they are of.

    pymilvus knows the fields (schema.proto), but not this wrapper of them, which only Milvus itself uses.
    """
    described = descriptor_pb2.FileDescriptorProto(
        name="lorebase/insert_record.proto",
        package="lorebase",
        syntax="proto3",
        dependency=[schema_pb2.DESCRIPTOR.name],
    )
    message = described.message_type.add(name="InsertRecord")
    field = descriptor_pb2.FieldDescriptorProto
    message.field.add(
        name="fields_data",
        number=1,
        label=field.LABEL_REPEATED,
        type=field.TYPE_MESSAGE,
        type_name=f".{schema_pb2.FieldData.DESCRIPTOR.full_name}",
    )
    message.field.add(name="num_rows", number=2, label=field.LABEL_OPTIONAL, type=field.TYPE_INT64)
    pool = descriptor_pool.Default()
    pool.Add(described)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("lorebase.InsertRecord"))
