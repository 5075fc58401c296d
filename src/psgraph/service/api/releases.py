"""Releases: graphs in several formats, certificates, node lists, export and report."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from psgraph.service.api.access import ActionRoute, OpenStream, TheService, Timestamp, allowed
from psgraph.service.downloads import certificate_file, edges_file, nodes_file, released
from psgraph.service.exports import export_file, report_page
from psgraph.service.schemas import ReleaseView
from psgraph.service.views import release_view

__all__ = ["router"]

router = APIRouter(route_class=ActionRoute, tags=["releases"])

Format = Literal["parquet", "csv", "graphml"]
ExportFormat = Literal["parquet", "csv", "graphml", "combined"]


@router.get("/streams/{stream}/releases", **allowed("certificates"))
def list_releases(
    stream: OpenStream,
    since: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> list[ReleaseView]:
    """List releases in order."""
    certificates = stream.releases.refresh()
    return [release_view(each) for each in certificates[since : since + limit]]


@router.get("/streams/{stream}/releases/{timestamp}", **allowed("certificates"))
def get_release(stream: OpenStream, timestamp: Timestamp) -> ReleaseView:
    """Return one release by its certificate."""
    return release_view(released(stream, timestamp))


@router.get(
    "/streams/{stream}/releases/{timestamp}/edges",
    response_class=Response,
    **allowed("download"),
)
def get_edges(
    stream: OpenStream,
    timestamp: Timestamp,
    request: Request,
    format: Annotated[Format, Query()] = "parquet",
    part: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Download a synthetic graph. The certificate states the digest of the Parquet file.

    A graph of many nodes is published in parts: a TAR archive of all, or one `part`.
    """
    return edges_file(stream, timestamp, format, part, request)


@router.get("/streams/{stream}/releases/{timestamp}/certificate", **allowed("certificates"))
def get_certificate(stream: OpenStream, timestamp: Timestamp, request: Request) -> Any:
    """Download the certificate, byte for byte as published."""
    return certificate_file(stream, timestamp, request)


@router.get(
    "/streams/{stream}/releases/{timestamp}/nodes", response_class=Response, **allowed("download")
)
def get_nodes(stream: OpenStream, timestamp: Timestamp, request: Request) -> Response:
    """Download the public node list of a release (Parquet)."""
    return nodes_file(stream, timestamp, request)


@router.get("/streams/{stream}/export", response_class=Response, **allowed("download"))
def get_export(
    stream: OpenStream, service: TheService, format: Annotated[ExportFormat, Query()] = "parquet"
) -> Response:
    """Download all public files of a stream as a ZIP archive, as `psgraph export` writes it."""
    return export_file(service, stream, format)


@router.get("/streams/{stream}/report", response_class=Response, **allowed("download"))
def get_report(stream: OpenStream, service: TheService) -> Response:
    """Return the public report as an HTML page."""
    return report_page(service, stream)
