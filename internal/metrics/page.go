package metrics

import (
	"cmp"
	_ "embed" // the head of the page
	"fmt"
	"strconv"
	"strings"
)

// Page returns the catalogue as a page in Markdown.
func Page() string {
	var page strings.Builder
	page.WriteString(pageHead)
	for _, group := range Groups() {
		fmt.Fprintf(&page, "\n## %s\n", group)
		if note := groupNotes[group]; note != "" {
			fmt.Fprintf(&page, "\n%s\n", note)
		}
		page.WriteString("\n| In Prometheus | In OpenTelemetry | Kind | Unit | Labels | Recorded by | What |\n")
		page.WriteString("|---|---|---|---|---|---|---|\n")
		for _, i := range Catalogue() {
			if i.Group == group {
				page.WriteString(row(&i))
			}
		}
	}
	page.WriteString(pageBuckets())
	return page.String()
}

//go:embed head.md
var pageHead string

var groupNotes = map[Group]string{
	GroupRuns: "*Automated* actions are those of the schedule itself; *manual* ones come of triggers and backfills. " +
		"Latencies are of automated ones: what a backfill asks for was due long ago.",
	GroupWatched: "Up to " + strconv.Itoa(MaxWatched) + " schedules that an operator has named have series of their own.",
}

func row(i *Instrument) string {
	return fmt.Sprintf("| `%s` | `%s` | %s | %s | %s | %s | %s |\n", i.PrometheusName(), i.Name, i.Kind,
		cmp.Or(i.Unit, "-"), cmp.Or(labels(i.Attributes), "-"), i.By, i.Description)
}

func labels(attributes []Attribute) string {
	labels := make([]string, len(attributes))
	for n, a := range attributes {
		switch {
		case len(a.Values) > 0 && a.Name != aStatus.Name:
			labels[n] = fmt.Sprintf("`%s`: `%s`", a.Name, strings.Join(a.Values, "` `"))
		case len(a.Values) == 0 && a.Name != aNamespace.Name && a.Name != aQueue.Name:
			labels[n] = fmt.Sprintf("`%s`: %s", a.Name, a.Means)
		default:
			labels[n] = fmt.Sprintf("`%s`", a.Name)
		}
	}
	return strings.Join(labels, "; ")
}

// pageBuckets lists the boundaries of the histograms. Histograms with the same boundaries share an entry.
func pageBuckets() string {
	var order []string
	of := map[string][]string{}
	for _, i := range Catalogue() {
		if i.Kind != KindHistogram {
			continue
		}
		bounds := make([]string, len(i.Buckets))
		for n, bound := range i.Buckets {
			bounds[n] = strconv.FormatFloat(bound, 'f', -1, 64)
		}
		text := strings.Join(bounds, ", ")
		if of[text] == nil {
			order = append(order, text)
		}
		of[text] = append(of[text], "`"+i.Name+"`")
	}
	var page strings.Builder
	page.WriteString("\n## Buckets\n\nThe upper bounds of the histograms, in their unit. A view of the SDK may replace them.\n\n")
	page.WriteString("| Bounds | Of |\n|---|---|\n")
	for _, text := range order {
		fmt.Fprintf(&page, "| %s | %s |\n", text, strings.Join(of[text], ", "))
	}
	return page.String()
}
