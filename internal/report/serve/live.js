// Replaces the content of the page whenever the server reports a change.
"use strict";

const events = new EventSource(document.currentScript.dataset.events);
const lost = document.createElement("p");
lost.className = "alert";
lost.textContent = "No connection to tare serve: this page stays as it is.";
events.onopen = () => lost.remove();
events.onerror = () => document.querySelector("main").prepend(lost);

events.addEventListener("changed", async () => {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (answer.redirected) { // the run has ended
    events.close();
    location.replace(answer.url);
  } else if (answer.ok) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = page.title;
    document.querySelector("main").replaceWith(page.querySelector("main"));
  }
});
