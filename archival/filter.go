package archival

import (
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

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

// conditions are those that must all hold where a condition does.
func conditions(where query.Expr) query.And {
	if all, isAnd := where.(query.And); isAnd {
		return all
	}
	return query.And{where}
}

// filterOf takes from a condition what must hold for all that it holds for.
func filterOf(where query.Expr) (f filter) {
	for _, part := range conditions(where) {
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

// executionOf is what the name of an entry says of its execution.
func executionOf(name *archive.EntryName) *workflowpb.WorkflowExecutionInfo {
	text := func(token string) string {
		text, _ := archive.TextOf(token)
		return text
	}
	return &workflowpb.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: text(name.WorkflowID), RunId: text(name.RunID)},
		Type:      &common.WorkflowType{Name: text(name.Type)}, CloseTime: timestamppb.New(name.End),
	}
}

// mayMatch reports whether a condition may hold for the execution of an entry of which only the name can be read: unless the name decides that it does not.
func mayMatch(where query.Expr, name *archive.EntryName) bool {
	of := row{executionOf(name)}
	return !slices.ContainsFunc(conditions(where), func(part query.Expr) bool {
		return isDecided(part, name) && !(&query.Query{Where: part}).Matches(of)
	})
}

// isDecided reports whether the name of an entry has all that a condition asks for.
func isDecided(e query.Expr, name *archive.EntryName) bool {
	all := func(parts []query.Expr) bool {
		return !slices.ContainsFunc(parts, func(part query.Expr) bool { return !isDecided(part, name) })
	}
	switch e := e.(type) {
	case query.And:
		return all(e)
	case query.Or:
		return all(e)
	case query.Not:
		return isDecided(e.Expr, name)
	case query.Compare:
		return hasField(name, e.Field)
	case query.In:
		return hasField(name, e.Field)
	case query.Between:
		return hasField(name, e.Field)
	case query.IsNull:
		return hasField(name, e.Field)
	}
	return false
}

// hasField reports whether the name of an entry has the whole value of a field.
func hasField(name *archive.EntryName, field query.Field) bool {
	if field.Source != query.Execution {
		return false
	}
	token := ""
	switch field.Name {
	case query.CloseTime:
		return true
	case query.WorkflowType:
		token = name.Type
	case query.WorkflowIDOf:
		token = name.WorkflowID
	case query.RunID:
		token = name.RunID
	}
	_, whole := archive.TextOf(token)
	return whole
}
