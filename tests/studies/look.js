// What a person does in the browser of items, and sees: left in an element as JSON.
const wait = () => new Promise(done => setTimeout(done, 20));
const set = (id, value) => {
  byId(id).value = value; (byId(id).onchange ?? byId(id).oninput)(); seen.push(found.length);
};
const seen = [];
(async () => {
  while (!document.querySelector("#item h2")) await wait();
  seen.push(found.length, document.querySelectorAll("#list button").length < 100);
  set("dataset", "odd"); set("flip", "any flip"); set("condition", "c1_true"); set("condition", "");
  set("search", "QUESTION 7?");
  document.querySelector("#list button").click();
  while (document.querySelector("#item h2").textContent !== "odd-7 (odd)") await wait();
  const texts = query => [...document.querySelectorAll(query)].map(part => part.textContent);
  seen.push(texts("#item pre"), texts("#item div.flip .text"), window.broken === undefined);
  document.body.append(element("pre", JSON.stringify(seen), {id: "seen"}));
})();
