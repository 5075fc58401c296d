"""The dashboard: pages rendered on the server from what the API returns.

Pages add no logic of their own: they call the functions behind the API's routes, as the same
caller, and place the results in templates. They work without JavaScript, except the verification
in the browser, and load nothing from other sites. `psgraph.service.pages.dashboard` adds them to
an application.
"""
