package consistency

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/backlog"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// together is how many workflow IDs are looked at before the floor of the consumer of their journals is read.
	together = 256
	// maxOwed is how many tasks that may be missing are remembered before the backlog is searched for them.
	maxOwed = 100_000
)

// executionLook is one look at executions. It remembers the tasks that wait until it has searched the backlog for them.
type executionLook struct {
	*Checker
	// fresh says that the leaders of the streams are asked. That is slower, and sees everything that has been acknowledged.
	fresh bool
	// take gets what was found, again and again; it may be nil. Then all of it is collected in found.
	take func(ctx context.Context, found []Finding)

	count int
	found []Finding
	owed  map[backlogLine]map[taskID]*Execution
	tasks int
	// keeps is for how long namespaces keep runs, as far as it was asked for.
	keeps map[string]time.Duration
}

// taskID tells apart the tasks of a queue.
type taskID struct {
	workflowID, runID string
	event             int64
	attempt, stamp    int32
}

func (c *Checker) newLook(fresh bool) *executionLook {
	return &executionLook{Checker: c, fresh: fresh, owed: map[backlogLine]map[taskID]*Execution{}, keeps: map[string]time.Duration{}}
}

// lookAtExecutions looks at all executions of a namespace for the first time, on any replica. An empty namespace means all.
func (c *Checker) lookAtExecutions(ctx context.Context, namespace string) (int, []Finding, error) {
	l := c.newLook(false)
	err := l.all(ctx, namespace)
	return l.count, l.found, err
}

// all looks at all executions of a namespace.
func (l *executionLook) all(ctx context.Context, namespace string) error {
	if l.reader.journals == nil {
		return nil
	}
	known := newKeySet()
	for shard := range l.config.Shards {
		if err := l.shard(ctx, shard, namespace, known); err != nil {
			return fmt.Errorf("consistency: look at the executions of shard %d: %w", shard, err)
		}
	}
	if err := l.search(ctx); err != nil {
		return err
	}
	l.pass(ctx)
	if err := l.strays(ctx, namespace, known); err != nil {
		return err
	}
	l.pass(ctx)
	return nil
}

// pass passes on what was found.
func (l *executionLook) pass(ctx context.Context) {
	if l.take != nil {
		l.take(ctx, l.found)
		l.found = nil
	}
}

// keySet is a set of keys, of which it keeps hashes alone.
type keySet struct {
	seed maphash.Seed
	all  map[uint64]struct{}
}

func newKeySet() *keySet { return &keySet{maphash.MakeSeed(), map[uint64]struct{}{}} }

func (s *keySet) add(key schedule.Key) { s.all[maphash.Comparable(s.seed, key)] = struct{}{} }
func (s *keySet) has(key schedule.Key) bool {
	_, has := s.all[maphash.Comparable(s.seed, key)]
	return has
}

// shard looks at the executions of one shard, and notes their keys. It lists the delayed messages before the journals: an execution that begins
// meanwhile has both.
func (l *executionLook) shard(ctx context.Context, shard int, namespace string, known *keySet) error {
	names := l.config.Names
	if namespace == "" {
		namespace = "*"
	}
	timers, err := l.reader.streams.Listed(ctx, names.TaskStream(shard), names.ExecutionTimersOf(shard, namespace))
	if err != nil {
		return err
	}
	journals, err := l.reader.streams.Listed(ctx, names.JournalStream(shard), names.Journals(shard, namespace))
	if err != nil {
		return err
	}
	slices.Sort(journals)
	floor, err := l.reader.historyFloor(ctx, shard)
	if err != nil {
		return err
	}
	keys := make([]schedule.Key, 0, len(journals))
	for _, subject := range journals {
		if _, key, err := names.ParseJournal(subject); err == nil {
			keys = append(keys, key)
			known.add(key)
		}
	}
	l.count += len(keys)
	l.orphans(shard, timers, known)
	for some := range slices.Chunk(keys, together) {
		if err := l.some(ctx, shard, some, floor); err != nil {
			return err
		}
		l.pass(ctx)
	}
	return nil
}

// orphans finds delayed messages of workflow IDs without a journal.
func (l *executionLook) orphans(shard int, timers []string, known *keySet) {
	comes := map[schedule.Key]*Execution{}
	for _, subject := range timers {
		timer, err := l.config.Names.ParseTimer(subject)
		if err != nil || known.has(timer.Key) {
			continue
		}
		if at, ok := timeOfTimer(subject); ok {
			if comes[timer.Key] == nil {
				comes[timer.Key] = &Execution{Key: timer.Key}
			}
			comes[timer.Key].Comes = append(comes[timer.Key].Comes, at)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(comes), compareKeys) {
		l.found = append(l.found, inspectExecution(l.config.Names, shard, comes[key])...)
	}
}

// some looks at some executions of one shard.
func (l *executionLook) some(ctx context.Context, shard int, keys []schedule.Key, floor uint64) error {
	last, err := l.lastOf(ctx, shard, keys)
	if err != nil {
		return err
	}
	read := make([]Execution, len(keys))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(l.config.Concurrency)
	for i, key := range keys {
		group.Go(func() (err error) {
			read[i], err = l.one(reading, shard, key, last[key], floor)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	settled, err := l.settled(ctx, shard, read)
	if err != nil {
		return err
	}
	for i := range read {
		read[i].Settled = read[i].Sequence <= settled(read[i].Key)
		if read[i].Keeps, err = l.retention(ctx, &read[i]); err != nil {
			return err
		}
		l.note(shard, &read[i], settled)
	}
	if l.tasks >= maxOwed {
		return l.search(ctx)
	}
	return nil
}

// settled returns a function for the sequence up to which history has done what the journals in the shard of a key make due. It asks for the shards
// of executions and of their children that have ended, after all of these have been read.
func (l *executionLook) settled(ctx context.Context, shard int, read []Execution) (func(schedule.Key) uint64, error) {
	floors := map[int]uint64{shard: 0}
	for i := range read {
		for _, child := range read[i].Ended {
			floors[l.reader.store.ShardOf(child.key)] = 0
		}
	}
	for _, one := range slices.Sorted(maps.Keys(floors)) {
		floor, err := l.reader.settledFloor(ctx, one)
		if err != nil {
			return nil, err
		}
		floors[one] = floor
	}
	return func(key schedule.Key) uint64 { return floors[l.reader.store.ShardOf(key)] }, nil
}

// lastOf returns the last entries of journals. One that is missing there has gone, or did not fit into the answer.
func (l *executionLook) lastOf(ctx context.Context, shard int, keys []schedule.Key) (map[schedule.Key]journal.Entry, error) {
	last := make(map[schedule.Key]journal.Entry, len(keys))
	if l.fresh {
		return last, nil
	}
	filters := make([]string, len(keys))
	for i, key := range keys {
		filters[i] = l.config.Names.Journal(shard, key)
	}
	found, _, err := l.reader.streams.Newest(ctx, shard, l.config.Names.JournalStream(shard), filters...)
	for i := range found {
		if _, key, err := l.config.Names.ParseJournal(found[i].Subject); err == nil {
			last[key] = journal.EntryOf(found[i])
		}
	}
	return last, err
}

// one reads one execution. Its journal may be purged at any moment; then there is none.
func (l *executionLook) one(ctx context.Context, shard int, key schedule.Key, last journal.Entry, floor uint64) (Execution, error) {
	var err error
	if last.Sequence == 0 {
		if last, err = l.reader.journals.Last(ctx, shard, key); err != nil && !errors.Is(err, journal.ErrNone) {
			return Execution{}, err
		}
	}
	messages := l.reader.anywhere
	if l.fresh {
		messages = l.reader.atLeader
	}
	x, err := l.reader.execution(ctx, key, last, floor, messages)
	if errors.Is(err, journal.ErrNone) {
		return Execution{Key: key}, nil
	}
	return x, err
}

// note inspects an execution, and remembers its tasks that must be in the backlog.
func (l *executionLook) note(shard int, x *Execution, settled func(schedule.Key) uint64) {
	l.found = append(l.found, inspectExecution(l.config.Names, shard, x)...)
	in := executionInspector{Execution: x, names: l.config.Names, shard: shard}
	in.work(settled)
	in.expired()
	l.found = append(l.found, in.findings...)
	if !x.Settled || x.State == nil || !x.State.Run.Open() {
		return
	}
	for _, o := range owedTasks(x.State, x.Now) {
		queue, task := backlog.TaskOf(x.Key, &o)
		line := lineOf(queue, &task)
		if l.owed[line] == nil {
			l.owed[line] = map[taskID]*Execution{}
		}
		l.owed[line][idOf(&task)] = &Execution{
			Key: x.Key, Sequence: x.Sequence, State: &execution.State{}, Unqueued: []execution.Offer{o},
		}
		l.tasks++
	}
}

func idOf(t *offer.Task) taskID { return taskID{t.WorkflowID, t.RunID, t.EventID, t.Attempt, t.Stamp} }

// search looks for the remembered tasks in the backlog, and forgets them. Those that are not there are findings.
func (l *executionLook) search(ctx context.Context) error {
	for _, line := range slices.SortedFunc(maps.Keys(l.owed), compareLines) {
		owed := l.owed[line]
		strike := func(_ uint64, t *offer.Task) bool {
			delete(owed, idOf(t))
			return len(owed) > 0
		}
		next, err := l.reader.backlog(ctx, line, strike)
		if err == nil && l.fresh && len(owed) > 0 {
			err = l.reader.newest(ctx, line, next, strike)
		}
		if err != nil {
			return err
		}
		for _, x := range slices.SortedFunc(maps.Values(owed), func(a, b *Execution) int { return compareKeys(a.Key, b.Key) }) {
			in := executionInspector{Execution: x, names: l.config.Names}
			in.tasks()
			l.found = append(l.found, in.findings...)
		}
	}
	clear(l.owed)
	l.tasks = 0
	return nil
}

// strays adds the tasks of the backlog whose workflow IDs have no journal.
func (l *executionLook) strays(ctx context.Context, namespace string, known *keySet) error {
	filter := l.config.Names.Backlogs()
	if namespace != "" {
		filter = l.config.Names.BacklogsOf(namespace)
	}
	queues, err := l.reader.streams.Listed(ctx, l.config.Names.BacklogStream(), filter)
	slices.Sort(queues)
	for _, subject := range queues {
		queue, priority, parseErr := l.config.Names.ParseBacklog(subject)
		if parseErr != nil || err != nil {
			continue
		}
		line := backlogLine{queue, priority}
		_, err = l.reader.backlog(ctx, line, func(sequence uint64, t *offer.Task) bool {
			if key := (schedule.Key{Namespace: t.Namespace, ID: t.WorkflowID}); !known.has(key) {
				stray := &Execution{Key: key, Strays: []strayTask{{line, sequence}}}
				l.found = append(l.found, inspectExecution(l.config.Names, 0, stray)...)
			}
			return true
		})
	}
	return err
}

// lookAtExecutionsAgain looks at the executions of findings, on the leaders.
func (c *Checker) lookAtExecutionsAgain(ctx context.Context, suspects []*Finding) ([]Finding, error) {
	if len(suspects) == 0 {
		return nil, nil
	}
	l := c.newLook(true)
	byShard, met := map[int][]schedule.Key{}, map[schedule.Key]bool{}
	for _, f := range suspects {
		if key := f.Key(); !met[key] {
			met[key] = true
			shard := c.reader.store.ShardOf(key)
			byShard[shard] = append(byShard[shard], key)
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(byShard)) {
		keys := byShard[shard]
		floor, err := c.reader.historyFloor(ctx, shard)
		if err != nil {
			return nil, err
		}
		for some := range slices.Chunk(keys, together) {
			if err := l.some(ctx, shard, some, floor); err != nil {
				return nil, err
			}
		}
	}
	if err := l.search(ctx); err != nil {
		return nil, err
	}
	return l.found, l.straysAgain(ctx, suspects)
}

// straysAgain adds the tasks without a workflow that are still in the backlog.
func (l *executionLook) straysAgain(ctx context.Context, suspects []*Finding) error {
	for _, f := range suspects {
		if f.task == nil {
			continue
		}
		_, err := l.reader.journals.Last(ctx, l.reader.store.ShardOf(f.Key()), f.Key())
		if err == nil {
			continue
		}
		if !errors.Is(err, journal.ErrNone) {
			return err
		}
		m, err := l.reader.executing.Next(ctx, l.config.Names.BacklogStream(), f.task.line.subject(l.config.Names), f.task.sequence)
		switch {
		case err == nil && m.Sequence == f.task.sequence:
			stray := &Execution{Key: f.Key(), Strays: []strayTask{*f.task}}
			l.found = append(l.found, inspectExecution(l.config.Names, 0, stray)...)
		case err != nil && !errors.Is(err, bus.ErrNone):
			return err
		}
	}
	return nil
}
