package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// In some plans callers do one thing to many schedules, which frontends carry out in the background. These requests draw from
// their own stream of numbers.

// bulkStart is the verb that starts a bulk operation.
const bulkStart = "bulk-start"

// nobodysID is an ID that some bulk operations name and no schedule has.
const nobodysID = "nobody"

// bulks draws for some plans how many bulk operations there are.
func (p *SystemPlan) bulks(rng *rand.Rand) {
	if rng.IntN(6) == 0 {
		p.Bulks = 1 + rng.IntN(4)
	}
}

// bulks plans the bulk operations. Their rate is at most ten, so that no two schedules are begun at the same moment: they would
// race for IDs.
func (p *callers) bulks() {
	w := p.world
	m := &callers{world: w, rng: rand.New(rand.NewPCG(w.seed, streamBulk)), begin: p.begin}
	operations := []schedule.BulkOperation{
		schedule.BulkPause, schedule.BulkUnpause, schedule.BulkUnpause, schedule.BulkTrigger, schedule.BulkTrigger, schedule.BulkDelete,
	}
	for range w.plan.Bulks {
		body := map[string]any{"operation": string(operations[m.rng.IntN(len(operations))]), "rate": 1 + m.rng.IntN(10)}
		id := w.plan.scheduleID(m.rng.IntN(w.plan.Schedules)) // and all in its namespace
		switch m.rng.IntN(3) {
		case 0:
			body["all"] = true
		case 1:
			body["prefix"] = "s"
		case 2:
			ids := []any{keyOf(id).ID}
			if m.one(2) {
				ids = append(ids, nobodysID)
			}
			body["ids"] = ids
		}
		w.ask(w.moment(between(m.rng, 5*time.Second, w.plan.Duration)), request{verb: bulkStart, id: sibling(id, ""), body: body})
	}
}

// bulk is an operation that was started.
type bulk struct {
	*request
	operation schedule.BulkOperation
	job       bulkJob
}

// bulkJob is the part of a job's record that the simulation looks at.
type bulkJob struct {
	ID, Status            string
	Done, Skipped, Failed int
	Failures              []struct{ ID string }
	EndTime               time.Time
}

// bulksStarted are the operations that were started, and what became of them.
func (w *world) bulksStarted() (all []bulk) {
	for _, r := range w.replies {
		answer, ok := r.answer.(schedule.StartBulkReply)
		if r.verb != bulkStart || r.err != nil || !ok {
			continue
		}
		b := bulk{request: r, operation: schedule.BulkOperation(r.body["operation"].(string))}
		bucket := w.names.ClusterBucket()
		m, _ := w.server.Last(subjects.BucketStream(bucket), subjects.BucketSubject(bucket, "job."+keyOf(r.id).Namespace+"."+answer.JobID))
		if mustDecode(m.Data, &b.job); b.job.ID == "" {
			panic("simulation: a bulk operation that was answered has no record")
		}
		all = append(all, b)
	}
	return all
}

// selects reports whether an operation covers a schedule.
func (b *bulk) selects(id string) bool {
	ids, _ := b.body["ids"].([]any)
	return keyOf(id).Namespace == keyOf(b.id).Namespace && (len(ids) == 0 || slices.Contains(ids, any(keyOf(id).ID)))
}

// hasFailed reports whether the operation failed for a schedule.
func (b *bulk) hasFailed(id string) bool {
	return slices.ContainsFunc(b.job.Failures, func(f struct{ ID string }) bool { return f.ID == id })
}

// kind is the kind of event that tells that the operation was done.
func (b *bulk) kind() schedule.EventKind {
	switch b.operation {
	case schedule.BulkPause:
		return schedule.EventPaused
	case schedule.BulkUnpause:
		return schedule.EventUnpaused
	case schedule.BulkTrigger:
		return schedule.EventTriggered
	}
	return schedule.EventDeleted
}

// takeApart adds the effects of bulk operations to the requests of callers: for each schedule the request that would have done
// the same to it alone.
func (w *world) takeApart() {
	for _, b := range w.bulksStarted() {
		for i := range w.plan.Schedules {
			id := w.plan.scheduleID(i)
			if !b.selects(id) {
				continue
			}
			one := &request{verb: string(b.operation), id: id, body: map[string]any{"requestId": b.job.ID}, from: b.from}
			w.open = append(w.open, one)
			if b.operation == schedule.BulkDelete {
				w.replies = append(w.replies, one)
				continue
			}
			for _, e := range once(w.history(id)) {
				if e.RequestID == b.job.ID && e.Kind == b.kind() {
					one.to = b.job.EndTime.Add(w.plan.Skew) // by the clock of the process that has done it
					if b.operation == schedule.BulkTrigger {
						one.answer = schedule.TriggerReply{ID: id, TriggerID: e.Source}
					}
					w.replies = append(w.replies, one)
				}
			}
		}
	}
}

// checkBulks: an operation comes to its end. By then it has been done once to each schedule that existed all the time, and to
// no other. It counts what it has done.
func (w *world) checkBulks(find func(kind, id, format string, args ...any)) {
	for _, b := range w.bulksStarted() {
		done, replaced := 0, false
		for i := range w.plan.Schedules {
			id := w.plan.scheduleID(i)
			told := w.toldOf(&b, id)
			done += told
			replaced = replaced || w.isReplaced(id)
			switch {
			case told > 0 && !b.selects(id):
				find("bulk", id, "%s %s was done, and is not about it", b.operation, b.job.ID)
			case told > 1 && !w.isReplaced(id):
				find("bulk", id, "%s %s was done %d times", b.operation, b.job.ID, told)
			case told == 0 && b.selects(id) && !b.hasFailed(id) && w.wasThere(id, b.from, b.job.EndTime):
				find("bulk", id, "%s %s was not done, and has not failed", b.operation, b.job.ID)
			}
		}
		if b.job.Status != "done" {
			find("bulk", "", "%s %s is %s", b.operation, b.job.ID, b.job.Status)
		}
		if ids, ok := b.body["ids"].([]any); ok && b.job.Done+b.job.Skipped+b.job.Failed != len(ids) {
			find("bulk", "", "%s %s was about %v, and says that %d are done, %d skipped and %d failed", b.operation, b.job.ID, ids,
				b.job.Done, b.job.Skipped, b.job.Failed)
		}
		if !replaced && (b.job.Done > done || done > b.job.Done+b.job.Failed) {
			find("bulk", "", "%s %s says that %d are done, and %d are, by the events", b.operation, b.job.ID, b.job.Done, done)
		}
		if ids, ok := b.body["ids"].([]any); ok && slices.Contains(ids, any(nobodysID)) && b.operation != schedule.BulkDelete && !b.hasFailed(nobodysID) {
			find("bulk", nobodysID, "%s %s does not say that it has failed", b.operation, b.job.ID)
		}
	}
}

// toldOf counts the events of a schedule which tell that an operation was done.
func (w *world) toldOf(b *bulk, id string) (told int) {
	for _, e := range once(w.history(id)) {
		if e.RequestID == b.job.ID && e.Kind == b.kind() {
			told++
		}
	}
	return told
}

// wasThere reports whether a schedule existed from before one time until after another, without a deletion in between. Clocks
// may be off.
func (w *world) wasThere(id string, from, to time.Time) bool {
	from, to = from.Add(-2*w.plan.Skew), to.Add(2*w.plan.Skew)
	there := false
	for i := range w.books.versions[id] {
		v := &w.books.versions[id][i]
		switch {
		case v.at.Before(from):
			there = v.definition.Incarnation != ""
		case !v.at.After(to) && v.definition.Incarnation == "":
			return false
		}
	}
	return there
}

// isAboutSchedule reports whether the body of a request names a schedule.
func (r *request) isAboutSchedule() bool {
	return r.verb != bulkStart && !strings.HasPrefix(r.verb, aboutCalendars)
}
