// Adds the time of whoever looks to the times on a page: to their titles, and where a page leaves a place for it.
"use strict";
(() => {
  const form = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fill = (root) => {
    for (const time of root.querySelectorAll("time[datetime]:not([data-yours])")) {
      const yours = form.format(new Date(time.dateTime)) + " " + zone;
      time.dataset.yours = "";
      time.title = (time.title ? time.title + ", " : "") + yours;
    }
    for (const place of root.querySelectorAll("[data-local-of]:empty")) {
      place.textContent = form.format(new Date(place.dataset.localOf));
    }
    for (const place of root.querySelectorAll("[data-local-zone]:empty")) {
      if (place.dataset.localZone !== zone) place.textContent = zone;
    }
  };
  fill(document);
  document.addEventListener("htmx:afterSettle", () => fill(document));
})();
