package consistency

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// A scrubber finds workflows by the entries of their journals, in the order in which they were stored, and looks at each workflow in progress
// once in a pass. It looks at a workflow earlier if a message that is to wake history is there, which is rare: history takes such a message at once.

// followJournals looks at the workflows of a shard. At the end, it searches the backlog for the tasks of all of them.
func (s *Scrubber) followJournals(ctx context.Context, p *pass) error {
	if p.workflows == nil {
		return nil
	}
	r := &s.checker.reader
	walk := &trail{streams: r.streams, shard: p.shard, name: r.names.JournalStream(p.shard), journals: true}
	if err := s.follow(ctx, walk, p); err != nil {
		return err
	}
	if err := p.workflows.search(ctx); err != nil {
		return err
	}
	s.suspectWorkflows(p)
	return nil
}

// visitWorkflows looks at the workflows to which entries belong, if they are in progress and new to the pass. It rests as visit does.
func (s *Scrubber) visitWorkflows(ctx context.Context, p *pass, met []string) error {
	var keys []schedule.Key
	for _, subject := range met {
		if _, key, err := s.config.Names.ParseJournal(subject); err == nil && !p.met.has(key) {
			p.met.add(key)
			keys = append(keys, key)
		}
	}
	open, err := s.inProgress(ctx, p, keys)
	if err == nil {
		err = s.lookAtWorkflows(ctx, p, open)
	}
	if err != nil {
		p.failed(err)
	}
	looks := float64(len(open)) + float64(len(met)-len(open))/strangers
	return sleep.For(ctx, time.Duration(looks*float64(time.Second)/s.config.Rate))
}

// inProgress returns the workflows with a run in progress, as far as their last entries tell.
func (s *Scrubber) inProgress(ctx context.Context, p *pass, keys []schedule.Key) (open []schedule.Key, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	filters := make([]string, len(keys))
	for i, key := range keys {
		filters[i] = s.config.Names.Journal(p.shard, key)
	}
	found, rest, err := s.checker.reader.streams.Newest(ctx, p.shard, s.config.Names.JournalStream(p.shard), filters...)
	if err != nil || rest {
		return keys, err
	}
	for i := range found {
		if _, key, err := s.config.Names.ParseJournal(found[i].Subject); err == nil && !isOver(&found[i]) {
			open = append(open, key)
		}
	}
	return open, nil
}

// isOver reports whether the last run of a journal ends with an entry. The entry may end one run and begin the next.
func isOver(m *bus.Message) bool {
	return m.Header.Get(subjects.HeaderEnds) != "" && execution.EndsWith(m.Data)
}

// visitWakes looks at the workflows for which a message is there that is to wake history.
func (s *Scrubber) visitWakes(ctx context.Context, p *pass, met []string) {
	if p.workflows == nil {
		return
	}
	var keys []schedule.Key
	for _, subject := range met {
		if task, err := s.config.Names.ParseTask(subject); err == nil && task.Role == subjects.RoleExecution {
			keys = append(keys, task.Key)
		}
	}
	if err := s.lookAtWorkflows(ctx, p, keys); err != nil {
		p.failed(err)
	}
}

// lookAtWorkflows looks at workflows on any replica.
func (s *Scrubber) lookAtWorkflows(ctx context.Context, p *pass, keys []schedule.Key) error {
	if len(keys) == 0 {
		return nil
	}
	floor, err := s.checker.reader.historyFloor(ctx, p.shard)
	if err == nil {
		err = p.workflows.some(ctx, p.shard, keys, floor)
	}
	metrics.ConsistencyChecked.Add(ctx, len(keys))
	s.suspectWorkflows(p)
	return err
}

// suspectWorkflows remembers what has been found for a second look.
func (s *Scrubber) suspectWorkflows(p *pass) {
	for _, f := range p.workflows.found {
		s.suspect(suspect{key: f.Key(), workflow: true, findings: []Finding{f}})
	}
	p.workflows.found = nil
}

// lookAtWorkflow looks at one workflow, on the leaders.
func (c *Checker) lookAtWorkflow(ctx context.Context, key schedule.Key) ([]Finding, error) {
	return c.lookAtExecutionsAgain(ctx, []*Finding{{Namespace: key.Namespace, WorkflowID: key.ID}})
}
