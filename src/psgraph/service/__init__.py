"""The service: streams, releases and the privacy budget over HTTP, by role.

`create_app` in `psgraph.service.app` builds the application and `psgraph.service.running` starts
it; ``psgraph serve`` is the command. Nothing here is imported by ``import psgraph``: it needs the
extra ``service``.
"""
