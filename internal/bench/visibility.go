package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
)

func visibilityScenario() Scenario {
	return Scenario{
		Name:     "visibility",
		Short:    "lists and counts of N workflows that have ended, and the search index of them built from nothing",
		Takes:    []string{ParamWorkflows, ParamDuration},
		Defaults: Parameters{Workflows: 100_000, Duration: Seconds(5 * time.Second)},
		measure:  measureVisibility,
	}
}

// measureVisibility writes the journals of workflows that have ended, has the index built of them, and asks. Only the roles that answer run then:
// the others would look at each entry.
func measureVisibility(ctx context.Context, s *session) error {
	if s.host.children != nil {
		return schedule.Invalid("processes", "visibility runs in one process only: leave it out")
	}
	if err := s.stopRoles(); err != nil {
		return err
	}
	if err := s.writeJournals(ctx); err != nil {
		return err
	}
	if dir := s.search.Dir; dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("bench: remove the search index: %w", err)
		}
	}
	s.config.listsOnly = true
	from, err := s.begin(ctx)
	if err != nil {
		return err
	}
	began, err := s.restart(ctx)
	if err != nil {
		return err
	}
	return s.withClient(ctx, func(c sdkclient.Client) error {
		if err := s.awaitLists(ctx, c, began); err != nil {
			return err
		}
		err := s.allowLists(ctx)
		if err == nil {
			err = s.askLists(ctx, c)
		}
		if err != nil {
			return err
		}
		s.noteMemory()
		s.result.IndexBytes = sizeOf(s.search.Dir)
		_, err = s.end(ctx, from)
		return err
	})
}

// awaitLists waits until the index is built, and notes how long that took since began.
func (s *session) awaitLists(ctx context.Context, c sdkclient.Client, began time.Time) error {
	for {
		all, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace})
		var building *serviceerror.FailedPrecondition
		var unavailable *serviceerror.Unavailable
		switch {
		case err == nil && int(all.Count) == s.Workflows:
			s.result.Times = map[string]Seconds{"index_built": Seconds(time.Since(began))}
			return nil
		case err == nil:
			return fmt.Errorf("bench: the index has %d workflows of %d", all.Count, s.Workflows)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &building):
			s.config.Progress(building.Message, 0, 0)
		case !errors.As(err, &unavailable):
			return fmt.Errorf("bench: count workflows: %w", err)
		}
		_ = sleep.For(ctx, poll)
	}
}

// allowLists lifts the limit of lists, which is for clients that ask all the time, as this one does.
func (s *session) allowLists(ctx context.Context) error {
	n, err := s.client.DescribeNamespace(ctx, namespace)
	if err != nil {
		return err
	}
	const enough = 100_000
	n.Limits.WorkflowListsPerSecond = enough
	_, err = s.client.UpdateNamespace(ctx, namespace, schedule.UpdateNamespaceRequest{Description: n.Description, Limits: n.Limits})
	return err
}

// listPage is how many workflows a page has, as in Temporal's web UI.
const listPage = 100

// lists are the queries of which the first page is asked for, by what they are called. What they find, writeJournals says.
var lists = []struct{ name, query string }{
	{"all", ""},
	{"running, which is none", "ExecutionStatus = 'Running'"},
	{"a status of 6 %", "ExecutionStatus = 'Failed'"},
	{"a type of 5 %", "WorkflowType = 'type-7'"},
	{"a type, a status and a time", "WorkflowType = 'type-7' AND ExecutionStatus = 'Completed' AND StartTime > '%[1]s'"},
	{"a time range", "StartTime BETWEEN '%[1]s' AND '%[2]s'"},
	{"a time range of ends", "CloseTime BETWEEN '%[1]s' AND '%[2]s'"},
	{"a workflow ID", "WorkflowId = 'order-77'"},
	{"a prefix of workflow IDs", "WorkflowId STARTS_WITH 'order-77'"},
	{"an attribute of 0.02 %", "CustomerId = 'customer-77'"},
	{"an attribute of 25 %", "Tier = 'gold'"},
	{"two attributes and a status", "Tier = 'gold' AND Amount > 990 AND ExecutionStatus = 'Failed'"},
	{"in order of start", "ORDER BY StartTime DESC"},
	{"a long history, which is none", "HistoryLength > 1000"},
}

// counts are the queries that are counted.
var counts = []struct{ name, query string }{
	{"all", ""},
	{"by status", "GROUP BY ExecutionStatus"},
	{"by type", "GROUP BY WorkflowType"},
	{"by an attribute", "GROUP BY Tier"},
	{"a status of 6 %", "ExecutionStatus = 'Failed'"},
	{"an attribute of 25 %", "Tier = 'gold'"},
}

// askLists asks each question for a time, one after the other.
func (s *session) askLists(ctx context.Context, c sdkclient.Client) error {
	s.result.Operations = map[string]Operation{}
	first := s.firstStart()
	middle := first.Add(time.Duration(s.Workflows/2) * startEvery)
	fill := func(query string) string {
		if query == "" || query[0] == 'O' || query[0] == 'G' {
			return query
		}
		return fmt.Sprintf(query+"%.[3]s", middle.Format(time.RFC3339), middle.Add(1000*startEvery).Format(time.RFC3339), "")
	}
	for _, list := range lists {
		err := s.repeat(ctx, "list, "+list.name, func() error {
			_, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: listPage, Query: fill(list.query)})
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, count := range counts {
		err := s.repeat(ctx, "count, "+count.name, func() error {
			_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: count.query})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mostAsked is how often a question is asked at most.
const mostAsked = 1000

// repeat asks a question again and again, and notes how long the answers took.
func (s *session) repeat(ctx context.Context, name string, ask func() error) error {
	latency := newHistogram()
	count := 0
	for began := time.Now(); count < mostAsked && time.Since(began) < time.Duration(s.Duration); count++ {
		asked := time.Now()
		if err := ask(); err != nil {
			return fmt.Errorf("bench: %s: %w", name, err)
		}
		latency.add(time.Since(asked))
		s.config.Progress(name, count, 0)
	}
	s.result.Operations[name] = Operation{Count: count, Latency: latency.quantiles()}
	return nil
}

// sizeOf returns the bytes of the files in a folder; zero if there is none.
func sizeOf(dir string) (bytes int64) {
	if dir == "" {
		return 0
	}
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil { // it may have just gone
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
