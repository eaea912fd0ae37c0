package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// patience is how long a test waits for what must happen.
const patience = natstest.Patience

// numbers is the Work of the tests: its items are the numbers below count.
type numbers struct {
	count int
	// do replaces the work on an item; nextErr is the first answer of Next.
	do      func(ctx context.Context, id string) (ItemResult, error)
	nextErr error

	mu       sync.Mutex
	done     map[string]int
	reported []string
}

func (n *numbers) Next(_ context.Context, _ *Job, after string, limit int) (ids []string, err error) {
	n.mu.Lock()
	err, n.nextErr = n.nextErr, nil
	n.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for i := range n.count {
		if id := fmt.Sprintf("%05d", i); id > after && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (n *numbers) Do(ctx context.Context, _ *Job, id string) (ItemResult, error) {
	n.mu.Lock()
	if n.done == nil {
		n.done = map[string]int{}
	}
	n.done[id]++
	n.mu.Unlock()
	if n.do != nil {
		return n.do(ctx, id)
	}
	return ItemResult{}, nil
}

func (n *numbers) Report(_ context.Context, _ *Job, failure Failure) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reported = append(n.reported, failure.ID)
	return errors.New("nobody listens") // which must not matter
}

func (n *numbers) times(id string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.done[id]
}

func (n *numbers) begun() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.done)
}

// bench is an installation with a store and no runner.
type bench struct {
	t     *testing.T
	store *Store
}

func install(t *testing.T) bench {
	t.Helper()
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	return bench{t, NewStore(kv.NewCluster(js, names))}
}

// run runs a runner until the end of the test, or until stop is called.
func (b bench) run(owner string, work Work, now func() time.Time) (stop func()) {
	b.t.Helper()
	runner := NewRunner(Config{
		Store: b.store, Works: map[string]Work{"numbers": work}, Logger: natstest.Logger(b.t), Owner: owner, Now: now,
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	b.t.Cleanup(stop)
	return stop
}

func (b bench) create(id string, change ...func(*Job)) {
	b.t.Helper()
	job := Job{Namespace: "default", ID: id, Kind: "numbers", Rate: MaxRate, Total: -1, CreateTime: time.Now().UTC()}
	for _, c := range change {
		c(&job)
	}
	created, err := b.store.Create(b.t.Context(), job)
	require.NoError(b.t, err)
	require.True(b.t, created)
}

func (b bench) get(id string) Job {
	b.t.Helper()
	job, err := b.store.Get(b.t.Context(), "default", id)
	require.NoError(b.t, err)
	return job
}

func (b bench) ended(id string) (job Job) {
	b.t.Helper()
	natstest.Eventually(b.t, patience, "the job has ended", func() bool {
		job = b.get(id)
		return job.Ended() && job.Owner == ""
	})
	return job
}

func TestAJobIsDone(t *testing.T) {
	t.Parallel()
	b := install(t)
	var once sync.Once
	work := &numbers{count: 1234, nextErr: errors.New("not yet"), do: func(_ context.Context, id string) (ItemResult, error) {
		switch id {
		case "00007":
			return ItemResult{}, schedule.Errorf(schedule.CodeNotFound, "no seven")
		case "00008":
			panic("eight")
		case "00009":
			return ItemResult{ItemSkipped, "nine"}, nil
		case "00010":
			var err error
			once.Do(func() { err = errors.New("try again") })
			return ItemResult{}, err
		}
		return ItemResult{}, nil
	}}
	b.run("a", work, time.Now)
	b.create("j", func(j *Job) { j.Parameters = json.RawMessage(`{"x":1}`) })
	job := b.ended("j")
	assert.Equal(t, Done, job.Status)
	assert.Equal(t, [3]int{1231, 1, 2}, [3]int{job.Done, job.Skipped, job.Failed})
	slices.SortFunc(job.Failures, func(a, b Failure) int { return int(a.ID[4]) - int(b.ID[4]) })
	assert.Equal(t, []Failure{{"00007", "no seven"}, {"00008", "panic: eight"}}, job.Failures)
	assert.ElementsMatch(t, []string{"00007", "00008"}, work.reported)
	assert.Equal(t, "01233", job.Cursor)
	assert.Empty(t, job.Page)
	assert.False(t, job.StartTime.IsZero() || job.EndTime.IsZero())
	assert.Equal(t, 1, work.times("00042"))
	assert.Equal(t, 2, work.times("00010"))
	assert.JSONEq(t, `{"x":1}`, string(job.Parameters))
}

func TestACreateIsIdempotent(t *testing.T) {
	t.Parallel()
	b := install(t)
	b.create("j")
	created, err := b.store.Create(t.Context(), Job{Namespace: "default", ID: "j", Kind: "other"})
	require.NoError(t, err)
	assert.False(t, created)
	assert.Equal(t, "numbers", b.get("j").Kind)

	_, err = b.store.Get(t.Context(), "default", "none")
	require.ErrorIs(t, err, ErrNone)
	_, err = b.store.Cancel(t.Context(), "default", "none", "", time.Now())
	require.ErrorIs(t, err, ErrNone)
}

func TestListIsNewestFirst(t *testing.T) {
	t.Parallel()
	b := install(t)
	jobs, err := b.store.List(t.Context(), "default")
	require.NoError(t, err)
	assert.Empty(t, jobs)
	for i, id := range []string{"one", "two", "three"} {
		b.create(id, func(j *Job) { j.CreateTime = noon.Add(time.Duration(i) * time.Second) })
	}
	b.create("elsewhere", func(j *Job) { j.Namespace = "other" })
	jobs, err = b.store.List(t.Context(), "default")
	require.NoError(t, err)
	ids := []string{}
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	assert.Equal(t, []string{"three", "two", "one"}, ids)
}

// TestAStoppedRunnerGivesItsJobBack: another continues at once, and nothing is done twice.
func TestAStoppedRunnerGivesItsJobBack(t *testing.T) {
	t.Parallel()
	b := install(t)
	work := &numbers{count: 120}
	stop := b.run("a", work, time.Now)
	b.create("j", func(j *Job) { j.Rate = 60 })
	natstest.Eventually(t, patience, "some items are done", func() bool { return work.begun() > 10 })
	stop()
	job := b.get("j")
	require.Equal(t, Running, job.Status)
	require.Empty(t, job.Owner)
	require.Equal(t, work.begun(), job.Done)
	b.run("b", work, time.Now)
	job = b.ended("j")
	assert.Equal(t, 120, job.Done)
	assert.Equal(t, 2, job.Term)
	for id, times := range work.done {
		assert.Equal(t, 1, times, "item %s", id)
	}
}

// TestAJobIsTakenFromOneThatIsSilent: the other runner's clock is ahead, so it takes a job that is being worked on.
func TestAJobIsTakenFromOneThatIsSilent(t *testing.T) {
	t.Parallel()
	b := install(t)
	first, second := &numbers{count: 100}, &numbers{count: 100}
	b.run("a", first, time.Now)
	b.create("j", func(j *Job) { j.Rate = 50 })
	natstest.Eventually(t, patience, "some items are done", func() bool { return first.begun() > 10 })
	b.run("b", second, func() time.Time { return time.Now().Add(2 * Lease) })
	job := b.ended("j")
	assert.Equal(t, 100, job.Done, "each is counted once")
	assert.Positive(t, second.begun())
	for i := range 100 {
		id := fmt.Sprintf("%05d", i)
		assert.GreaterOrEqual(t, first.times(id)+second.times(id), 1, "item %s", id)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := install(t)
	work := &numbers{count: 10_000}
	b.run("a", work, time.Now)
	b.create("j")
	b.create("other", func(j *Job) { j.Kind = "unknown" })
	natstest.Eventually(t, patience, "some items are done", func() bool { return work.begun() > 10 })
	_, err := b.store.Cancel(t.Context(), "default", "j", "anna", time.Now())
	require.NoError(t, err)
	job := b.ended("j")
	assert.Equal(t, Canceled, job.Status)
	assert.Equal(t, "anna", job.CanceledBy)
	assert.Equal(t, work.begun(), job.Done, "what has been begun is finished and counted")
	assert.Less(t, job.Done, 10_000)

	again, err := b.store.Cancel(t.Context(), "default", "j", "ben", time.Now())
	require.ErrorIs(t, err, ErrEnded)
	assert.Equal(t, "anna", again.CanceledBy)
	_, err = b.store.Cancel(t.Context(), "default", "other", "", time.Now())
	require.NoError(t, err, "also where nobody works on it")
}

func TestAJobThatCannotGoOn(t *testing.T) {
	t.Parallel()
	b := install(t)
	b.run("a", &numbers{nextErr: schedule.Invalid("query", "is no good")}, time.Now)
	b.create("j")
	job := b.ended("j")
	assert.Equal(t, Failed, job.Status)
	assert.Equal(t, "query: is no good", job.Error)
}

func TestOldJobsAreRemoved(t *testing.T) {
	t.Parallel()
	b := install(t)
	b.run("a", &numbers{}, time.Now)
	b.create("j")
	b.ended("j")
	b.run("later", &numbers{}, func() time.Time { return time.Now().Add(Retention + time.Hour) })
	natstest.Eventually(t, patience, "the record is gone", func() bool {
		_, err := b.store.Get(t.Context(), "default", "j")
		return errors.Is(err, ErrNone)
	})
	jobs, err := b.store.List(t.Context(), "default")
	require.NoError(t, err)
	assert.Empty(t, jobs)
}

// TestMoreJobsThanSlots: waiting jobs get their turn.
func TestMoreJobsThanSlots(t *testing.T) {
	t.Parallel()
	b := install(t)
	b.run("a", &numbers{count: 3}, time.Now)
	for i := range 3 * slots {
		b.create(fmt.Sprint(i))
	}
	for i := range 3 * slots {
		assert.Equal(t, 3, b.ended(fmt.Sprint(i)).Done)
	}
}
