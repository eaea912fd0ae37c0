package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	sdkclient "go.temporal.io/sdk/client"
)

// leastEvents is how many events the shortest history has.
const leastEvents = 10

func coldScenario() Scenario {
	return Scenario{
		Name:     "cold",
		Short:    "the first request about a workflow with a long history, after a restart",
		Takes:    []string{ParamEvents},
		Defaults: Parameters{Events: 10_000},
		measure:  measureCold,
	}
}

// coldSamples is how many workflows of each length are asked each question.
const coldSamples = 3

// coldRequests are the questions. Each is the first one about its workflow after the restart.
var coldRequests = []coldRequest{
	{"describe", func(s *session, ctx context.Context, c sdkclient.Client, id string) error {
		_, err := s.describe(ctx, c, id)
		return err
	}},
	{"signal", func(_ *session, ctx context.Context, c sdkclient.Client, id string) error {
		return c.SignalWorkflow(ctx, id, "", signalName, nil)
	}},
	{"query", func(_ *session, ctx context.Context, c sdkclient.Client, id string) error {
		_, err := c.QueryWorkflow(ctx, id, "", queryName)
		return err
	}},
}

type coldRequest struct {
	name string
	do   func(s *session, ctx context.Context, c sdkclient.Client, id string) error
}

// lengths are the lengths of the histories: from ten events on, a hundred times as many, and the longest.
func lengths(most int) (all []int) {
	for n := leastEvents; n < most; n *= 100 {
		all = append(all, n)
	}
	return append(all, most)
}

func (s *session) coldID(length, sample int, name string) string {
	return s.workflowID(kindLong, name+"-"+strconv.Itoa(length), sample)
}

func measureCold(ctx context.Context, s *session) error {
	if err := s.makeLong(ctx); err != nil {
		return err
	}
	err := s.restartGateway(ctx, func(sdkclient.Client) error { return nil })
	if err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	s.result.Operations = map[string]Operation{}
	return s.withWorker(ctx, func(c sdkclient.Client) error {
		_, _, err := s.during(ctx, func() error { return s.askAll(ctx, c) })
		return err
	})
}

// askAll asks each question about workflows of each length.
func (s *session) askAll(ctx context.Context, c sdkclient.Client) error {
	for _, length := range lengths(s.Events) {
		for _, ask := range coldRequests {
			if err := s.askCold(ctx, c, length, ask); err != nil {
				return err
			}
		}
	}
	return nil
}

// longWorkflow is a workflow that is to have a number of events.
type longWorkflow struct {
	id     string
	events int
}

// longWorkflows returns all workflows: for each length and each question some.
func (s *session) longWorkflows() (all []longWorkflow) {
	for _, length := range lengths(s.Events) {
		for _, ask := range coldRequests {
			for i := range coldSamples {
				all = append(all, longWorkflow{s.coldID(length, i, ask.name), length})
			}
		}
	}
	return all
}

// makeLong makes the workflows: they are started, and get signals, of which each is an event and an entry of its own. Then a worker takes them.
func (s *session) makeLong(ctx context.Context) error {
	all := s.longWorkflows()
	err := s.withClient(ctx, func(c sdkclient.Client) error {
		return s.forEach(ctx, "making long histories", len(all), func(ctx context.Context, i int) error { return s.make(ctx, c, all[i]) })
	})
	if err != nil {
		return err
	}
	err = s.withWorker(ctx, func(c sdkclient.Client) error {
		return s.forEach(ctx, "taking signals", len(all), func(ctx context.Context, i int) error {
			_, err := c.QueryWorkflow(ctx, all[i].id, "", queryName) // it waits until the workflow task is completed
			return err
		})
	})
	if s.workers != nil {
		s.workers.stop(processWorker)
	}
	return err
}

func (s *session) make(ctx context.Context, c sdkclient.Client, w longWorkflow) error {
	_, err := s.start(ctx, c, kindLong, w.id)
	const others = 4 // the start is two events, and the workflow task two more
	for n := w.events - others; n > 0 && err == nil; n-- {
		err = c.SignalWorkflow(ctx, w.id, "", signalName, nil)
	}
	return err
}

// askCold asks one question about each workflow of a length, one after the other.
func (s *session) askCold(ctx context.Context, c sdkclient.Client, length int, ask coldRequest) error {
	latency := newHistogram()
	for i := range coldSamples {
		id := s.coldID(length, i, ask.name)
		asked := time.Now()
		if err := ask.do(s, ctx, c, id); err != nil {
			return fmt.Errorf("bench: %s %s: %w", ask.name, id, err)
		}
		latency.add(time.Since(asked))
	}
	s.result.Operations[fmt.Sprintf("%s, %d events", ask.name, length)] = Operation{Count: coldSamples, Latency: latency.quantiles()}
	return nil
}
