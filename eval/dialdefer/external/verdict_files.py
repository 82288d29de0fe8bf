"""What DialDefer's verdict files hold."""

from eval.verdict_files import Layout

LAYOUT = Layout(
    required=("model", "dataset", "item_id", "condition"),
    optional=("benchmark", "arm", "roles", "label", "choice", "response", "error"),
    choice="choice",
    response="response",
)

COLUMNS_HELP = """\
Files of verdicts have a row for each verdict and these columns (fields); others are ignored:
  model      what tables call it; each model is scored for itself
  dataset    truthfulqa advisorqa amqa bbq gpqa halueval harp plausibleqa socialiqa aio (halueval_qa, harp_mcq, ... too)
  item_id    the same for all conditions, arms and models
  condition  c1_true c1_false c2_correct c2_incorrect
  choice     1 (accepts the claim), 2 (rejects it), or null for a reply that nobody could read
  response   the reply's text, parsed where there is no choice (CSV: where the choice is empty)
and may have:
  arm        none (the default) honest dehumanizing sft dpo ...; an arm with C2 only is held against the C1 of `none`
  roles      2->1 (the default) or 1->2
  label      r/AIO's verdict on the original poster, OR or NOR; no score needs it
  error      anything but empty, false or 0: the engine failed; the item is left out and the error counted apart
  benchmark  not looked at: the dataset says which
Every arm of a model needs the same items, and every item the same conditions."""
