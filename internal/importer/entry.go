package importer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Entry is an entry of another tool that became a schedule, or could not.
type Entry struct {
	// Schedule is the schedule made from the entry. It means nothing if there is a Problem.
	Schedule
	// From is the place of the entry.
	From string
	// Notes list what was not carried over.
	Notes []string
	// Problem is why the entry is left out.
	Problem error
	// HostZone is set if the other tool reads the times in the zone of its host.
	HostZone bool
	// HostDST is what the other tool does in that zone when the clocks change.
	HostDST schedule.DST
}

// Schedule is a schedule in the form of a file for apply.
type Schedule struct {
	ID string `json:"id"`
	schedule.Schedule
}

// Note adds a note about something that was not carried over.
func (e *Entry) Note(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// Options are what the files of other tools do not contain.
type Options struct {
	// IDPrefix begins the IDs of the schedules.
	IDPrefix string
	// TaskQueue is the task queue of actions whose source names none.
	TaskQueue string
	// Zone is the time zone of times whose source names none. Empty means UTC.
	Zone string
}

// Documents completes the entries and returns each as a YAML document for apply. It makes repeated IDs different. An entry that
// cannot be applied gets a problem, and its document is empty.
func (o Options) Documents(all []Entry) []string {
	nameEntries(o.IDPrefix, all)
	documents := make([]string, len(all))
	for i := range all {
		documents[i] = o.document(&all[i])
	}
	return documents
}

func (o Options) document(e *Entry) string {
	if e.Problem != nil {
		return ""
	}
	o.complete(e)
	request := schedule.CreateRequest{ID: e.ID, Schedule: e.Schedule.Schedule}
	if e.Problem = request.Validate(); e.Problem != nil {
		return ""
	}
	text, err := apitext.EncodeYAML(e.Schedule)
	e.Problem = err
	return string(text)
}

// complete adds the options to a schedule, and what follows from them.
func (o Options) complete(e *Entry) {
	e.Action.TaskQueue = cmp.Or(e.Action.TaskQueue, o.TaskQueue)
	if e.Spec.TimeZone != "" || hasOwnZone(e.Spec.Cron) {
		return
	}
	e.Spec.TimeZone = o.Zone
	if o.Zone != "" && e.HostZone {
		e.Spec.DST = e.HostDST
	}
}

func hasOwnZone(expressions []string) bool {
	for _, e := range expressions {
		if strings.HasPrefix(e, "CRON_TZ=") || strings.HasPrefix(e, "TZ=") {
			return true
		}
	}
	return false
}
