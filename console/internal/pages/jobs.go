package pages

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// jobsShown is how many bulk operations a page of the list has.
const jobsShown = 50

// bulking is the page on which somebody sees what a bulk operation would do, and starts it.
type bulking struct {
	// Operation is what is done, and the others say to what and how, as in the API.
	Operation, Query, Note, Overlap, Runs, Rate, Label, Value string
	IDs                                                       []string
	All, Remove                                               bool
	Request, Back                                             string
	// Words say which schedules are meant.
	Words                              string
	Operations, Overlaps, RunsPolicies []string
	Problem                            *refusal.Refusal
	// Preview is what would be done; nil if that is not known.
	Preview *schedule.StartBulkReply
	// More is how many schedules the preview does not name.
	More int
}

// addJobs adds the pages of bulk operations.
func (p *Pages) addJobs() {
	const jobs = Base + "{namespace}/jobs"
	p.page("GET "+jobs, p.jobs)
	p.page("POST "+jobs, p.bulk)
	p.page("GET "+jobs+"/{job}", p.job)
	p.page("POST "+jobs+"/{job}/cancel", p.cancelJob)
}

// bulkOf returns what a form asks for. The schedules are those that were chosen one by one, or all that a search finds.
func (p *Pages) bulkOf(r *http.Request, asks *speaker.Speaker) *bulking {
	value := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	b := &bulking{
		Operation: value("operation"), Note: value("note"), Overlap: value("overlap"), Runs: value("runs"), Rate: value("rate"), Label: value("label"),
		Value: value("value"), Remove: value("remove") != "", Request: cmp.Or(value("request"), p.config.NewID()), Overlaps: overlaps(),
		Back: address(asks.Namespace(), "schedules") + queryOf("query", value("query")),
	}
	for _, operation := range schedule.BulkOperations() {
		b.Operations = append(b.Operations, string(operation))
	}
	for _, policy := range schedule.RunsPolicies() {
		b.RunsPolicies = append(b.RunsPolicies, string(policy))
	}
	if value("which") != "found" {
		b.IDs = r.PostForm["id"]
	} else if b.Query = value("query"); b.Query == "" {
		b.All = true
	}
	b.Words = selectionWords(&schedule.Selection{IDs: b.IDs, Query: b.Query, All: b.All})
	return b
}

// selectionWords says which schedules are meant.
func selectionWords(s *schedule.Selection) string {
	switch {
	case s.All:
		return "all schedules of the namespace"
	case s.Query != "":
		return "all that this finds: " + s.Query
	case s.Prefix != "":
		return "those whose ID begins with " + s.Prefix
	case len(s.IDs) > 0:
		return plural(len(s.IDs), "schedule") + ", chosen one by one"
	}
	return "chosen one by one" // a list of jobs leaves the IDs out
}

// request returns the request of the API. What does not go with the operation is left out: the page has fields for all of them.
func (b *bulking) request() (request schedule.StartBulkRequest, err error) {
	request.Operation = schedule.BulkOperation(b.Operation)
	request.IDs, request.Query, request.All, request.RequestID = b.IDs, b.Query, b.All, b.Request
	if b.Rate != "" {
		if request.Rate, err = strconv.Atoi(b.Rate); err != nil {
			return request, schedule.Invalid("rate", "is %q: give a number of schedules a second, at most %d", b.Rate, schedule.MaxBulkRate)
		}
	}
	switch request.Operation {
	case schedule.BulkTrigger:
		request.Note, request.Overlap = b.Note, schedule.OverlapPolicy(b.Overlap)
	case schedule.BulkPause, schedule.BulkUnpause:
		request.Note = b.Note
	case schedule.BulkDelete:
		request.Runs = schedule.RunsPolicy(b.Runs)
	case schedule.BulkSetLabel:
		request.Label = &schedule.Label{Name: b.Label}
		if !b.Remove {
			request.Label.Value = &b.Value
		}
	}
	return request, nil
}

// bulk shows what a bulk operation would do, or starts it.
func (p *Pages) bulk(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	b := p.bulkOf(r, asks)
	request, err := b.request()
	if err == nil && len(b.IDs) == 0 && b.Query == "" && !b.All {
		err = schedule.Invalid("id", "is missing: choose schedules in the list, or take all that the search finds")
	}
	var reply schedule.StartBulkReply
	if err == nil {
		request.DryRun = r.PostFormValue("do") != "start"
		reply, err = asks.StartBulk(r.Context(), request)
	}
	if err == nil && !request.DryRun {
		return &answer{to: address(asks.Namespace(), "jobs", reply.JobID) + "?said=bulk"}, nil
	}
	if err != nil {
		b.Problem = refusal.Of(err)
	} else {
		b.Preview, b.More = &reply, reply.Count-len(reply.IDs)
	}
	return &answer{view: "bulk", title: "Bulk " + b.Operation, data: b}, nil
}

// jobList is the page with the bulk operations of a namespace.
type jobList struct {
	Rows []jobRow
	// Next is the address of the next page; empty on the last one. IsFirst says that this is the first.
	Next    string
	IsFirst bool
}

// jobRow is a bulk operation.
type jobRow struct {
	ID, Address, Operation, Words, Identity string
	State                                   state
	// Processed is how many of Total are processed, whatever came of them.
	Processed, Total, Done, Skipped, Failed int
	Created, Started, Ended                 moment
}

// kindsOfJobs are the colours of their statuses.
var kindsOfJobs = map[schedule.BulkStatus]string{
	schedule.BulkRunning: "busy", schedule.BulkDone: "good", schedule.BulkCanceled: "warn", schedule.BulkFailed: "bad",
}

func jobOf(d *schedule.BulkDescription, namespace string, now time.Time) jobRow {
	row := jobRow{
		ID: d.JobID, Address: address(namespace, "jobs", d.JobID), Operation: string(d.Operation), Words: selectionWords(&d.Selection), Identity: d.Identity,
		State: state{string(d.Status), cmp.Or(kindsOfJobs[d.Status], "quiet")}, Processed: d.Done + d.Skipped + d.Failed, Total: d.Total,
		Done: d.Done, Skipped: d.Skipped, Failed: d.Failed, Created: momentOf(d.CreateTime, now, time.UTC), Started: momentOf(d.StartTime, now, time.UTC),
		Ended: momentOf(d.EndTime, now, time.UTC),
	}
	if d.Status == schedule.BulkDone && d.Failed > 0 {
		row.State.Kind = "warn"
	}
	return row
}

// jobs shows the bulk operations, the newest first.
func (p *Pages) jobs(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	after := r.URL.Query().Get("after")
	reply, err := asks.ListBulk(r.Context(), schedule.ListBulkRequest{PageSize: jobsShown, PageToken: after})
	if err != nil {
		return nil, err
	}
	list := &jobList{IsFirst: after == ""}
	for i := range reply.Operations {
		list.Rows = append(list.Rows, jobOf(&reply.Operations[i], asks.Namespace(), p.config.Now()))
	}
	if reply.NextPageToken != "" {
		list.Next = queryOf("after", reply.NextPageToken)
	}
	return &answer{view: "jobs", title: "Background jobs", data: list}, nil
}

// jobOne is the page of one bulk operation.
type jobOne struct {
	jobRow
	Note, Overlap, Runs, Label, CanceledBy, Error string
	Rate                                          int
	IsOpen                                        bool
	// Failures are the newest ones, the newest first. MoreFailures is how many there are besides.
	Failures     []schedule.BulkFailure
	MoreFailures int
	// Left is how long it takes yet by its rate; empty if that is not known.
	Left string
}

// job shows one bulk operation.
func (p *Pages) job(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, err := asks.DescribeBulk(r.Context(), r.PathValue("job"))
	if err != nil {
		return nil, err
	}
	one := &jobOne{
		jobRow: jobOf(&d, asks.Namespace(), p.config.Now()), Note: d.Note, Overlap: string(d.Overlap), Runs: string(d.Runs), CanceledBy: d.CanceledBy,
		Error: d.Error, Rate: d.Rate, IsOpen: !d.Ended(), Failures: d.Failures, MoreFailures: d.Failed - len(d.Failures),
	}
	slices.Reverse(one.Failures)
	if d.Label != nil {
		one.Label = d.Label.Name + " removed"
		if d.Label.Value != nil {
			one.Label = d.Label.Name + "=" + *d.Label.Value
		}
	}
	if left := d.Total - one.Processed; one.IsOpen && left > 0 && d.Rate > 0 {
		one.Left = "at least " + rounded(time.Duration(left)*time.Second/time.Duration(d.Rate))
	}
	return &answer{view: "job", title: "Bulk " + one.Operation, data: one}, nil
}

// cancelJob ends a bulk operation. What it has done stays done.
func (p *Pages) cancelJob(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	job := r.PathValue("job")
	if _, err := asks.CancelBulk(r.Context(), job); err != nil {
		return nil, err
	}
	return &answer{to: address(asks.Namespace(), "jobs", job) + "?said=cancel-bulk"}, nil
}
