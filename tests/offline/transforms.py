"""Running a program's transforms as the engine does: by its callback server, own first, the stack's last."""

from __future__ import annotations

from collections.abc import Iterable

import grpc
from pulumi.runtime.proto import callback_pb2, callback_pb2_grpc, resource_pb2

SAME = (
    "protect",
    "version",
    "provider",
    "retain_on_delete",
    "deleted_with",
    "replacement_trigger",
    "plugin_download_url",
)
LISTS = ("ignore_changes", "replace_on_changes", "additional_secret_outputs", "aliases", "hide_diff", "replace_with")
NAMES = {
    "depends_on": "dependencies",
    "ignore_changes": "ignoreChanges",
    "replace_on_changes": "replaceOnChanges",
    "additional_secret_outputs": "additionalSecretOutputs",
    "retain_on_delete": "retainOnDelete",
    "deleted_with": "deletedWith",
    "plugin_download_url": "pluginDownloadURL",
    "custom_timeouts": "customTimeouts",
    "hide_diff": "hideDiffs",
    "import": "importId",
}
"""Options that a transform and a registration spell differently."""


def apply_transforms(
    request: resource_pb2.RegisterResourceRequest, callbacks: Iterable[callback_pb2.Callback]
) -> resource_pb2.RegisterResourceRequest:
    """The registration after the given transforms, one after the other."""
    for callback in callbacks:
        asked = resource_pb2.TransformRequest(
            type=request.type,
            name=request.name,
            custom=request.custom,
            parent=request.parent,
            properties=request.object,
            options=_build_options(request),
        )
        answer = resource_pb2.TransformResponse.FromString(call(callback, asked.SerializeToString()))
        changed = resource_pb2.RegisterResourceRequest()
        changed.CopyFrom(request)
        changed.object.CopyFrom(answer.properties)
        if answer.HasField("options"):
            _apply(answer.options, changed)
        request = changed
    return request


def call(callback: callback_pb2.Callback, request: bytes) -> bytes:
    """Call one function of the program."""
    with grpc.insecure_channel(callback.target) as channel:
        stub = callback_pb2_grpc.CallbacksStub(channel)
        return bytes(stub.Invoke(callback_pb2.CallbackInvokeRequest(token=callback.token, request=request)).response)


def _build_options(request: resource_pb2.RegisterResourceRequest) -> resource_pb2.TransformResourceOptions:
    made = resource_pb2.TransformResourceOptions(providers=dict(request.providers))
    for name in ("depends_on", *LISTS):
        getattr(made, name).extend(getattr(request, NAMES.get(name, name)))
    for name in (*SAME, "import"):
        _set(made, name, request, NAMES.get(name, name))
    made.custom_timeouts.CopyFrom(request.customTimeouts)
    if request.deleteBeforeReplaceDefined:
        made.delete_before_replace = request.deleteBeforeReplace
    return made


def _apply(options: resource_pb2.TransformResourceOptions, request: resource_pb2.RegisterResourceRequest) -> None:
    for name in ("depends_on", *LISTS):
        target = getattr(request, NAMES.get(name, name))
        del target[:]
        target.extend(getattr(options, name))
    for name in (*SAME, "import"):
        _set(request, NAMES.get(name, name), options, name)
    request.customTimeouts.CopyFrom(options.custom_timeouts)
    request.deleteBeforeReplaceDefined = options.HasField("delete_before_replace")
    request.deleteBeforeReplace = options.delete_before_replace
    request.providers.clear()
    request.providers.update(options.providers)


def _set(target: object, name: str, source: object, source_name: str) -> None:
    """Copy a field of either message; a field that is not there is cleared."""
    field = source.DESCRIPTOR.fields_by_name[source_name]  # type: ignore[attr-defined]
    if field.has_presence and not source.HasField(source_name):  # type: ignore[attr-defined]
        target.ClearField(name)  # type: ignore[attr-defined]
    elif field.message_type:
        getattr(target, name).CopyFrom(getattr(source, source_name))
    else:
        setattr(target, name, getattr(source, source_name))
