package pages

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/diagnosis"
)

// nowView is the page that somebody sees first: how the installation and the namespace are.
type nowView struct {
	// Health is how the installation is; nil if that is not known. Then HealthProblem says why.
	Health        *healthView
	HealthProblem string
	Past          pastView
	Coming        comingView
	Executions    executionsView
	Timeline      timeline
	// Backlog are the task queues of the namespace on which runs wait, and Waiting how many do.
	Backlog []backlogRow
	Waiting int
}

// backlogRow is a task queue on which runs wait or are in hand.
type backlogRow struct {
	Name          string
	HasWorker     bool
	Waiting, Held int
	Oldest        string
}

// nowTime bounds how long the page waits for its parts.
const nowTime = 6 * time.Second

// addNow adds the first page, and leads there.
func (p *Pages) addNow() {
	for _, pattern := range []string{"GET /{$}", "GET " + Base + "{namespace}/{$}"} {
		p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			namespace := r.PathValue("namespace")
			if namespace == "" {
				namespace = p.config.First(r)
			}
			http.Redirect(w, r, address(namespace, "now"), http.StatusSeeOther)
		})
	}
	p.page("GET "+Base+"{namespace}/now", p.nowPage)
}

// nowPage shows how all is. Each part is found out by itself, so that what a user may not see or what does not answer leaves the others alone.
func (p *Pages) nowPage(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), nowTime)
	defer cancel()
	var page nowView
	var past pastFacts
	var coming comingFacts
	var health *diagnosis.Facts
	var unknown error
	var parts sync.WaitGroup
	parts.Go(func() { health, unknown = p.health(ctx, asks) })
	parts.Go(func() { past = p.past(ctx, asks) })
	parts.Go(func() { coming = p.coming(ctx, asks) })
	parts.Go(func() { page.Executions = p.executions(ctx, asks) })
	parts.Wait()
	now := p.config.Now()
	if unknown != nil {
		page.HealthProblem = lineOf(unknown)
	} else {
		page.Health = healthOf(health)
		page.Backlog, page.Waiting = backlogOf(health, asks.Namespace(), now)
	}
	page.Past, page.Coming = pastOf(&past, asks.Namespace(), now), comingOf(&coming, asks.Namespace(), now)
	page.Timeline = timelineOf(past.runs, coming.times, now)
	return &answer{view: "now", title: "Now", data: &page}, nil
}

// lineOf returns what an error means, in one line for people.
func lineOf(err error) string { return refusal.Of(err).Message }

// backlogOf returns the busy task queues of a namespace, and how many runs wait on all of them.
func backlogOf(f *diagnosis.Facts, namespace string, now time.Time) (rows []backlogRow, waiting int) {
	for i := range f.Queues {
		q := &f.Queues[i]
		if q.Namespace != namespace {
			continue
		}
		waiting += q.Waiting
		if q.Waiting+q.Held == 0 || len(rows) == backlogShown {
			continue
		}
		rows = append(rows, backlogRow{q.Name, q.Worker, q.Waiting, q.Held, waitText(q.Oldest, now)})
	}
	return rows, waiting
}

// backlogShown is how many task queues the page lists.
const backlogShown = 20
