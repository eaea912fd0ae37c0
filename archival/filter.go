package archival

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// filter is what the names of entries can decide of a query.
type filter struct {
	workflowType, workflowID, runID string // tokens
	from, to                        string // hours of days, both included, as hourOf has them; empty if there is no bound
}

// hourOf returns the hour of the entries of runs that ended at a time, and its day: hours are in the order of these texts.
func hourOf(at time.Time) string { return archive.DayOf(at) + at.UTC().Format(" 15") }

func (f *filter) hasDay(day string) bool {
	return (f.from == "" || day >= f.from[:len(time.DateOnly)]) && (f.to == "" || day <= f.to[:len(time.DateOnly)])
}

func (f *filter) hasHour(day, hour string) bool {
	at := day + " " + hour
	return at >= f.from && (f.to == "" || at <= f.to)
}

func (f *filter) hasName(n *archive.EntryName) bool {
	return (f.workflowID == "" || n.WorkflowID == f.workflowID) && (f.runID == "" || n.RunID == f.runID)
}

// filterOf takes from a condition what must hold for all that it holds for.
func filterOf(where query.Expr) (f filter) {
	all, isAnd := where.(query.And)
	if !isAnd {
		all = query.And{where}
	}
	for _, part := range all {
		c, ok := part.(query.Compare)
		if !ok || c.Field.Source != query.Execution {
			continue
		}
		f.narrow(c)
	}
	return f
}

func (f *filter) narrow(c query.Compare) {
	equal := c.Op == query.Equal
	switch c.Field.Name {
	case query.WorkflowType:
		if equal {
			f.workflowType = archive.Token(c.Value.Text)
		}
	case query.WorkflowIDOf:
		if equal {
			f.workflowID = archive.Token(c.Value.Text)
		}
	case query.RunID:
		if equal {
			f.runID = archive.Token(c.Value.Text)
		}
	case query.CloseTime:
		hour := hourOf(c.Value.Time)
		if slices.Contains([]query.Op{query.Greater, query.GreaterOrEqual, query.Equal}, c.Op) {
			f.from = max(f.from, hour)
		}
		if slices.Contains([]query.Op{query.Less, query.LessOrEqual, query.Equal}, c.Op) && (f.to == "" || hour < f.to) {
			f.to = hour
		}
	}
}
