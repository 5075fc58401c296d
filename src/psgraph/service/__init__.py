"""The service: streams, releases and the privacy budget over HTTP, by role.

`psgraph.service.app` builds the application and runs it; ``psgraph serve`` is the command. `import
psgraph` imports none of this: it needs the extra ``service``.
"""
