"""Texts of strangers that try to be more than text on a page."""

HOSTILE = (
    "</script><script>window.broken = true</script>",
    "<!--<script>",
    "<img src=x onerror='window.broken = true'>",
    """"quotes" and 'quotes' and `quotes` and ${window.broken = true}""",
    "\u2028window.broken = true\u2029//",
    "\u202eright to left\u202c שלום",
    "{{ 7 * 7 }} {% raw %} &lt;b&gt; \\u003c \\",
    "a" * 5000,
)
