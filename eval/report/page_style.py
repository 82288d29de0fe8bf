"""How the report looks: one column that fits a phone, wide tables in boxes that scroll, light and dark."""

CSS = """
:root { color-scheme: light dark; --back: #ffffff; --ink: #1d2126; --soft: #59616a; --line: #dfe2e6; --faint: #f5f6f8;
  --link: #2f5f8f; --warn: #fff5e2; --warn-edge: #b97a06; --good: #1d6b3a; --bad: #a33a1f; }
@media (prefers-color-scheme: dark) { :root { --back: #16181b; --ink: #e6e8ea; --soft: #a4acb5; --line: #363b41;
  --faint: #1f2226; --link: #8ab8e6; --warn: #33290f; --warn-edge: #d9a12f; --good: #7fce9b; --bad: #f0937a; }
  figure img { filter: invert(1) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { margin: 0 auto; max-width: 76rem; padding: 1.25rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; overflow-wrap: anywhere; }
section { margin-top: 2.25rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p, li { max-width: 60rem; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .35rem 1rem; margin: 1.25rem 0 0; font-size: .875rem; }
a, summary { color: var(--link); }
.headline { font-size: 1.1rem; }
.note { color: var(--soft); font-size: .875rem; }
.warning { background: var(--warn); border-left: 4px solid var(--warn-edge); padding: .5rem .75rem; margin: .75rem 0;
  max-width: 62rem; }
.warning p { margin: .25rem 0; }
.wide { overflow-x: auto; margin: .5rem 0; }
.wide:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 400; }
tbody th, thead tr:first-child th:first-child { text-align: left; position: sticky; left: 0; background: var(--back); }
thead th { border-bottom: 2px solid var(--line); font-weight: 600; vertical-align: bottom; }
tr.average > * { font-weight: 600; }
table.words td, table.words th, table.verdicts td, table.verdicts th { text-align: left; white-space: normal;
  overflow-wrap: anywhere; vertical-align: top; }
table.verdicts thead th { overflow-wrap: normal; }
table.words td, table.words th { min-width: 8rem; }
table.data thead th { white-space: normal; min-width: 3rem; max-width: 7rem; }
table.data .text { text-align: left; }
table.data .long { white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }
tr.group th { font-weight: 600; text-align: left; padding-top: .7rem; }
table.heat { border-collapse: separate; border-spacing: 2px; }
table.heat caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
table.heat th { border: 0; }
table.heat thead th { white-space: normal; overflow-wrap: break-word; min-width: 5rem; max-width: 8rem;
  text-align: center; }
table.heat thead th:first-child { text-align: left; min-width: 0; }
table.heat thead th[colspan] { max-width: none; border-bottom: 2px solid var(--line); text-align: left; }
table.heat td { text-align: center; border: 0; border-radius: 3px; padding: .2rem .35rem; font-size: .875rem;
  line-height: 1.25; }
table.heat small { display: block; font-size: .6875rem; }
table.heat tr.average > * { font-weight: inherit; }
table.heat tr.average > th { font-weight: 600; }
.steps { display: flex; flex-wrap: wrap; align-items: center; gap: 2px; font-size: .75rem; max-width: none; }
.steps span { padding: .15rem .4rem; border-radius: 3px; white-space: nowrap; }
.steps b { font-weight: 600; padding: 0 .35rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: 1.25rem;
  align-items: start; margin: .75rem 0; }
figure { margin: 0; max-width: 32rem; }
figure img { width: 100%; height: auto; display: block; }
.flip { border: 1px solid var(--line); border-radius: 6px; padding: .75rem .9rem; margin: .75rem 0; }
.flip p { margin: .25rem 0; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr)); gap: .6rem;
  margin: .6rem 0; }
.side { background: var(--faint); border-radius: 4px; padding: .5rem .65rem; overflow-wrap: anywhere; min-width: 0; }
.right { color: var(--good); font-weight: 600; } .wrong { color: var(--bad); font-weight: 600; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; background: var(--faint); padding: .6rem;
  margin: .4rem 0; }
details { margin: .35rem 0; }
summary { cursor: pointer; font-size: .9375rem; padding: .2rem 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { table.data tbody th { white-space: normal; min-width: 6rem; max-width: 9rem;
  overflow-wrap: anywhere; } tr.group th { max-width: none !important; } }
"""
