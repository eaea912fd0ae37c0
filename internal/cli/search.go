package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/schedule"
)

// staleAfter is how far the search index may be behind before a note says so.
const staleAfter = 5 * time.Second

// searchFlags say which schedules a command is about.
type searchFlags struct{ prefix, query string }

func (s *searchFlags) define(flags *pflag.FlagSet, verb string) {
	flags.StringVar(&s.prefix, "id-prefix", "", verb+" the IDs that begin with `TEXT`")
	flags.StringVar(&s.query, "query", "", verb+" what a `QUERY` finds, a moment ago: conditions on id, paused, type, taskQueue, "+
		"workflowId, nextTime, lastStatus, lastTime, running, waiting, createTime, updateTime, notes, memo.NAME and attr.NAME, "+
		"with and, or, not; then order by (docs/search.md)")
}

// collectFound returns all schedules that the flags ask for. It never returns nil, so that an empty result prints as an empty list.
func (a *app) collectFound(ctx context.Context, api *client.Client, s searchFlags) ([]schedule.Description, error) {
	schedules := []schedule.Description{}
	req := schedule.ListRequest{Prefix: s.prefix, Query: s.query}
	behind := false
	for {
		page, err := api.List(ctx, req)
		if err != nil {
			return nil, explainQuery(s.query, err)
		}
		schedules = append(schedules, page.Schedules...)
		behind = behind || page.IndexBehind
		if page.NextPageToken == "" {
			a.sayIfStale(page.IndexedUpTo, behind)
			return schedules, nil
		}
		req.PageToken = page.NextPageToken
	}
}

// explainQuery adds to an error about a query the place of the mistake.
func explainQuery(text string, err error) error {
	var refused *schedule.Error
	if !errors.As(err, &refused) || refused.Field != "query" {
		return err
	}
	_, wrong := query.Parse(text)
	place := query.Point(text, wrong)
	if place == "" {
		return err // the frontend has another version, with other rules
	}
	return withHint(err, "this is the place:\n  %s", strings.ReplaceAll(place, "\n", "\n  "))
}

// sayIfStale tells people if an answer is older than they may expect.
func (a *app) sayIfStale(upTo time.Time, behind bool) {
	switch age := a.env.Now().Sub(upTo); {
	case upTo.IsZero():
	case age > staleAfter:
		_, _ = fmt.Fprintf(a.env.Stderr, "note: the search index is %s behind\n", age.Round(time.Second))
	case behind:
		_, _ = fmt.Fprintln(a.env.Stderr, "note: the search index is behind: the latest changes may not show yet")
	}
}
