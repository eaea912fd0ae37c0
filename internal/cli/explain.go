package cli

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// suggestTime bounds how long an error about an unknown ID waits for the list of known IDs.
	suggestTime = time.Second
	// suggestAmong is the number of known IDs that a suggestion is chosen from.
	suggestAmong = 200
)

// explain adds to an API error a hint at what to do. The ID names the schedule that the request was about; it is empty if there was none.
func (a *app) explain(ctx context.Context, api *client.Client, id string, err error) error {
	switch schedule.CodeOf(err) {
	case schedule.CodeNotFound:
		return a.explainNotFound(ctx, api, id, err)
	case schedule.CodeAlreadyExists:
		if id == "" {
			return err
		}
		return withHint(err, "look at it with: carillon schedule describe %s; or choose another ID", id)
	case schedule.CodeFailedPrecondition:
		switch fieldOf(err) {
		case fieldToken:
			return withHint(err, "look at it with: carillon schedule describe %s", id)
		case fieldRun:
			return withHint(err, "carillon run list %s shows the newest runs", id)
		}
	}
	return err
}

// fieldRun is the field name in an error about a run.
const fieldRun = "run"

func (a *app) explainNotFound(ctx context.Context, api *client.Client, id string, err error) error {
	switch fieldOf(err) {
	case "backfillId":
		return withHint(err, "carillon schedule describe %s shows the triggers and backfills in progress", id)
	case fieldRun:
		return withHint(err, "carillon run list %s shows the newest runs", id)
	case "namespace":
		return withHint(err, "%scarillon namespace list shows the namespaces", nearestNamespace(ctx, api, a.global.namespace))
	case "jobId":
		return withHint(err, "carillon bulk list shows the bulk operations of namespace %s", a.global.namespace)
	}
	return withHint(err, "%scarillon schedule list shows the schedules of namespace %s; --namespace chooses another",
		nearestID(ctx, api, id), a.global.namespace)
}

// nearestID suggests the schedule that the user probably meant: one with the same first letter, otherwise one of the first in the list.
func nearestID(ctx context.Context, api *client.Client, id string) string {
	if id == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, suggestTime)
	defer cancel()
	_, size := utf8.DecodeRuneInString(id)
	for _, prefix := range []string{id[:size], ""} {
		page, err := api.List(ctx, schedule.ListRequest{Prefix: prefix, PageSize: suggestAmong})
		if err != nil {
			return "" // the error at hand says more
		}
		var known []string
		for i := range page.Schedules {
			known = append(known, page.Schedules[i].ID)
		}
		if suggestion := didYouMean(id, known); suggestion != "" {
			return suggestion
		}
	}
	return ""
}

// nearestNamespace suggests the namespace that the user probably meant, in place of one that does not exist.
func nearestNamespace(ctx context.Context, api *client.Client, name string) string {
	ctx, cancel := context.WithTimeout(ctx, suggestTime)
	defer cancel()
	var known []string
	for namespace, err := range api.Namespaces(ctx) {
		if err != nil || namespace.Name == name {
			return "" // the error was about another namespace
		}
		known = append(known, namespace.Name)
	}
	return didYouMean(name, known)
}

// didYouMean returns the beginning of a hint; it is empty if no known name is similar.
func didYouMean(name string, known []string) string {
	suggestion, near := strings.CutPrefix(flagconf.Suggest(name, known, ""), "; ")
	if !near {
		return ""
	}
	return suggestion + " "
}
