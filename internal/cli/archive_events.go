package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The kinds of things that an archive has.
const (
	archiveWorkflows = "workflow"
	archiveSchedules = "schedule"
)

// archiveKind is the flag that says of what kind the archived things are.
type archiveKind string

func (k *archiveKind) define(cmd *cobra.Command) {
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.StringVar((*string)(k), "of", archiveWorkflows, "what was archived of a `KIND`: workflow, or schedule for the events of schedules")
	})
}

// isSchedule reports whether the flag asks for schedules. Then the flags without are not for it, if they have a value.
func (k archiveKind) isSchedule(without map[string]string) (bool, error) {
	if k == archiveWorkflows {
		return false, nil
	}
	if k != archiveSchedules {
		return false, usagef("--of: %q is neither workflow nor schedule", string(k))
	}
	for name, value := range without {
		if value != "" {
			return true, usagef("--%s is not for --of schedule", name)
		}
	}
	return true, nil
}

// askEvents asks for pages of what an archive has of the events of schedules, until take wants no more.
func (a *app) askEvents(ctx context.Context, verb string, request archive.EventsRequest, take func(*archive.EventsPage) (more bool)) error {
	if _, err := archive.ParseDay(request.Day); err != nil && request.Day != "" {
		return usagef("--day: %q is not a day such as 2026-11-28", request.Day)
	}
	return a.askArchive(ctx, func(ask func(string, proto.Message, proto.Message) error) error {
		for {
			page, err := eventsPage(verb, &request, ask)
			if err != nil {
				return err
			}
			if request.Next = page.Next; !take(page) || len(page.Next) == 0 {
				return nil
			}
		}
	})
}

// eventsPage asks for one page.
func eventsPage(verb string, request *archive.EventsRequest, ask func(string, proto.Message, proto.Message) error) (*archive.EventsPage, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	var answer wrapperspb.BytesValue
	if err := ask(verb, wrapperspb.Bytes(data), &answer); err != nil {
		return nil, err
	}
	page := &archive.EventsPage{}
	return page, json.Unmarshal(answer.Value, page)
}

// verifyEvents is verifyArchived for the events of schedules.
func (a *app) verifyEvents(ctx context.Context, filter *archiveFilter, from string) (*archive.Verified, error) {
	if _, err := archive.ParseDay(filter.day); err != nil && filter.day != "" {
		return nil, usagef("--day: %q is not a day such as 2026-11-28", filter.day)
	}
	return a.verifyAll(ctx, subjects.VerbVerifySchedules, from, func(next []byte) (proto.Message, error) {
		data, err := json.Marshal(archive.EventsRequest{ScheduleID: filter.id, Day: filter.day, Next: next})
		return wrapperspb.Bytes(data), err
	})
}

// listEvents prints of which schedules there are archived events.
func (a *app) listEvents(ctx context.Context, output outputFlag, filter *archiveFilter, limit int) error {
	all := []archive.Events{}
	request := archive.EventsRequest{ScheduleID: filter.id, Day: filter.day, Kind: filter.workflowType, Size: min(limit, workflowPage)}
	err := a.askEvents(ctx, subjects.VerbListSchedules, request, func(page *archive.EventsPage) bool {
		all = append(all, page.Schedules...)
		return len(all) < limit
	})
	if err != nil {
		return err
	}
	all = all[:min(limit, len(all))]
	return printList(a, output, all, func(e *archive.Events) string { return e.ScheduleID }, func(w io.Writer) error {
		return printEventDays(w, all, a.view())
	})
}

// printEventDays prints a line for each of some events of a schedule and a day.
func printEventDays(w io.Writer, all []archive.Events, view render.View) error {
	if len(all) == 0 {
		_, err := io.WriteString(w, "no events\n")
		return err
	}
	rows := [][]string{{"DAY", "SCHEDULE", "FROM", "TO", "EVENTS", "KINDS"}}
	for i := range all {
		e, kinds := &all[i], []string{}
		for _, kind := range slices.Sorted(maps.Keys(e.Kinds)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, e.Kinds[kind]))
		}
		rows = append(rows, []string{
			e.Day, cmp.Or(e.ScheduleID, "-"), e.First.UTC().Format(time.TimeOnly), e.Last.UTC().Format(time.TimeOnly), fmt.Sprint(e.Count), strings.Join(kinds, ", "),
		})
	}
	return view.Table(w, rows)
}

// getEvents prints the archived events of a schedule: those of one day only, unless it is empty.
func (a *app) getEvents(ctx context.Context, output outputFlag, id, day string) error {
	all := []json.RawMessage{}
	err := a.askEvents(ctx, subjects.VerbScheduleEvents, archive.EventsRequest{ScheduleID: id, Day: day, Size: workflowPage}, func(page *archive.EventsPage) bool {
		all = append(all, page.Events...)
		return true
	})
	if err != nil {
		return err
	}
	return a.print(output, all, func(w io.Writer) error { return printEvents(w, all, a.view()) })
}

// printEvents prints a line for each of some events. One that cannot be read is printed as it is.
func printEvents(w io.Writer, all []json.RawMessage, view render.View) error {
	lines := render.EventLines{Layout: render.EventMoment, Zone: time.UTC, Color: view.Color}
	text := []string{lines.Header(view.Now)}
	for _, data := range all {
		var e schedule.Event
		line := string(data)
		if json.Unmarshal(data, &e) == nil && e.Kind != "" {
			line = lines.Line(&e)
		}
		text = append(text, line)
	}
	_, err := fmt.Fprintln(w, strings.Join(text, "\n"))
	return err
}
