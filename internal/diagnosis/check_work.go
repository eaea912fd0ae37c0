package diagnosis

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/subjects"
)

func checkFrontends(f *Facts) Check {
	if len(f.Frontends) == 0 {
		return notOK("frontends", Failed, "none answers: schedules run, and nobody can look at them or change them",
			"start one: carillon frontend, or carillon server")
	}
	versions := map[string]bool{}
	for _, frontend := range f.Frontends {
		versions[frontend.Version] = true
	}
	if len(versions) > 1 {
		return ok("frontends", "%s answer, of %d versions", counted(len(f.Frontends), "frontend"), len(versions))
	}
	return ok("frontends", "%s of version %s", counted(len(f.Frontends), "frontend"), f.Frontends[0].Version)
}

// poolState is the state of one pool over all shards.
type poolState struct {
	consumers, held int
	pending         uint64
	oldest          time.Time
	// unasked are the streams from which nobody requests messages.
	unasked []string
}

func stateOf(f *Facts, pool string) poolState {
	var state poolState
	for i := range f.Streams {
		s := &f.Streams[i]
		for _, c := range s.Consumers {
			if subjects.PoolOfConsumer(c.Name) != pool || c.Missing {
				continue
			}
			state.consumers++
			state.pending += c.Pending
			state.held += c.Held
			if !c.Oldest.IsZero() && (state.oldest.IsZero() || c.Oldest.Before(state.oldest)) {
				state.oldest = c.Oldest
			}
			if c.Unasked {
				state.unasked = append(state.unasked, s.title())
			}
		}
	}
	return state
}

// checkPool checks whether processes request the tasks of a pool on every shard, and how long tasks wait. A process that has all
// it can hold requests no more, which is no fault while it makes progress.
func checkPool(f *Facts, pool string) Check {
	state := stateOf(f, pool)
	lag := time.Duration(0)
	if !state.oldest.IsZero() {
		lag = max(f.Time.Add(f.NATS.Skew).Sub(state.oldest), 0)
	}
	tasks := fmt.Sprintf("%s waiting, %d in hand", counted(state.pending, "task"), state.held)
	if lag >= time.Second {
		tasks += ", the first waits for " + lag.Round(time.Second).String()
	}
	asked := checkAsked(pool, &state, tasks)
	switch {
	case asked != nil && asked.Status == Failed:
		return *asked
	case lag >= lagFailed:
		return notOK(pool, Failed, tasks, "start more processes: carillon "+pool+"; see the log of those that run for errors")
	case lag >= lagWarning:
		return notOK(pool, Warning, tasks, "look again in a minute; if it grows, start more processes: carillon "+pool)
	case asked != nil:
		return *asked
	}
	return ok(pool, "%s served; %s", counted(min(state.consumers, f.Cluster.Shards), "shard"), tasks)
}

// checkWorkers looks for task queues where runs wait and nobody takes them.
func checkWorkers(f *Facts) Check {
	served, waiting := 0, 0
	var unserved []string
	var oldest time.Time
	for _, q := range f.Queues {
		waiting += q.Waiting
		if q.Worker {
			served++
		} else if q.Waiting > 0 {
			unserved = append(unserved, fmt.Sprintf("%s/%s (%s)", q.Namespace, q.Name, counted(q.Waiting, "run")))
			if oldest.IsZero() || q.Oldest.Before(oldest) {
				oldest = q.Oldest
			}
		}
	}
	if len(unserved) > 0 {
		now, status := f.Time.Add(f.NATS.Skew), Warning
		if now.Sub(oldest) >= unservedFailed {
			status = Failed
		}
		return notOK("workers", status, fmt.Sprintf("runs wait, the first for %s, and no worker serves %s",
			ageText(now, oldest), listed(unserved)),
			"start a worker for that queue: carillon worker --namespace NAME --task-queue NAME, or one of yours")
	}
	if served == 0 {
		return ok("workers", "none is there, and no run waits for one")
	}
	return ok("workers", "%s served, %s waiting", counted(served, "task queue"), counted(waiting, "run"))
}

func checkDeadLetters(f *Facts) Check {
	var count uint64
	var first time.Time
	for i := range f.Streams {
		s := &f.Streams[i]
		if !strings.HasSuffix(s.Name, "_DLQ") || s.Messages == 0 {
			continue
		}
		if count == 0 || s.First.Before(first) {
			first = s.First
		}
		count += s.Messages
	}
	if count == 0 {
		return ok("dead letters", "none")
	}
	return notOK("dead letters", Warning, fmt.Sprintf("%s, the oldest from %s ago", counted(count, "message"), ageText(f.Time, first)),
		"carillon dlq list shows them and why; carillon dlq replay sends them again, carillon dlq purge forgets them")
}

// checkHistory reports how far the event history goes back.
func checkHistory(f *Facts) Check {
	for i := range f.Streams {
		s := &f.Streams[i]
		switch {
		case !strings.HasSuffix(s.Name, "_EVENTS"):
		case s.Messages == 0:
			return ok("events", "no event yet")
		case s.MaxAge > 0:
			return ok("events", "%s, back to %s ago; kept for %d days", counted(s.Messages, "event"), ageText(f.Time, s.First),
				s.MaxAge/(24*time.Hour))
		default:
			return ok("events", "%s, back to %s ago", counted(s.Messages, "event"), ageText(f.Time, s.First))
		}
	}
	return ok("events", "no event yet")
}
