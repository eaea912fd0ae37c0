package diagnosis

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/presence"
)

const (
	// staleIndex is how far behind a search index may be. Normally it is a second, and 15 seconds under load.
	staleIndex = time.Minute
	// quickBuild is how long an index may be built before somebody should know: every process that starts has to open its index.
	quickBuild = 10 * time.Second
)

// checkSearch looks at the search indexes of all processes that have one.
func checkSearch(f *Facts) Check {
	const name = "search"
	var indexes int
	var built, stale []string
	slow := false
	for i := range f.Processes {
		p := &f.Processes[i]
		switch index := p.Index; {
		case index == nil:
			continue
		case !index.Ready:
			built = append(built, fmt.Sprintf("%s: %s", p.Title(), buildText(index, f.Time)))
			slow = slow || !index.Since.IsZero() && f.Time.Sub(index.Since) > quickBuild
		case f.Time.Sub(index.UpTo) > staleIndex:
			stale = append(stale, fmt.Sprintf("%s: by %s", p.Title(), ageText(f.Time, index.UpTo)))
		}
		indexes++
	}
	switch {
	case len(built) > 0 && !slow:
		return ok(name, "the index is being built: %s", listed(built))
	case len(built) > 0:
		return notOK(name, Warning, "the index is being built: "+listed(built),
			"wait: until then, those processes refuse queries and lists of workflows as unavailable; nothing else waits for them")
	case len(stale) > 0:
		return notOK(name, Warning, "the index is behind: "+listed(stale), "see docs/runbooks/CarillonSearchIndexStale.md")
	case indexes == 0:
		return ok(name, "no process says that it has an index")
	}
	return ok(name, "the index is up to date in %s", processesText(indexes))
}

// buildText says how much of an index is there, and how long the rest will take if it goes on like that.
func buildText(index *presence.Index, now time.Time) string {
	if index.Total == 0 {
		return "nothing of it is there yet"
	}
	text := fmt.Sprintf("%d %% (%d of %s)", min(index.Read*100/index.Total, 99), index.Read, counted(index.Total, "message"))
	took := now.Sub(index.Since)
	if index.Read == 0 || index.Read >= index.Total || took <= 0 {
		return text
	}
	left := time.Duration(float64(took) * float64(index.Total-index.Read) / float64(index.Read))
	return text + ", about " + left.Round(time.Second).String() + " left"
}
