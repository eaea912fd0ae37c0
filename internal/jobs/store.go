package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The errors of a [Store]. Errors of kv and of NATS come on top; those may be tried again.
var (
	// ErrNone: there is no such job.
	ErrNone = errors.New("jobs: no such job")
	// ErrEnded: the job has ended.
	ErrEnded = errors.New("jobs: the job has ended")
)

const (
	// listTimeout bounds a list whose context has no deadline.
	listTimeout = 10 * time.Second
	// readers is how many jobs of a list are read at once.
	readers = 16
	// maxWrites bounds the attempts to write a record that its runner also writes, about every second.
	maxWrites = 16
)

// Store reads and writes jobs. [NewStore] makes it. It is safe for concurrent use.
type Store struct{ cluster *kv.Cluster }

// NewStore returns the store in a cluster bucket.
func NewStore(cluster *kv.Cluster) *Store { return &Store{cluster: cluster} }

// Create stores a new job and returns true. If a job with that ID exists, it returns false and leaves that job as it is.
func (s *Store) Create(ctx context.Context, job Job) (created bool, err error) {
	job.Status = Running
	_, err = s.write(ctx, &job, 0)
	if errors.Is(err, kv.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// Get returns the last written version of a job, or ErrNone.
func (s *Store) Get(ctx context.Context, namespace, id string) (Job, error) {
	job, _, err := s.read(ctx, namespace, id)
	return job, err
}

// read returns a job and its revision.
func (s *Store) read(ctx context.Context, namespace, id string) (Job, uint64, error) {
	record, err := kv.GetJSON[Job](ctx, s.cluster, subjects.JobKey(namespace, id))
	if errors.Is(err, kv.ErrNotFound) {
		return Job{}, 0, ErrNone
	}
	return record.Value, record.Revision, err
}

// List returns the jobs of a namespace, newest first.
func (s *Store) List(ctx context.Context, namespace string) ([]Job, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	keys, err := s.cluster.Keys(ctx, subjects.JobKeys(namespace))
	if err != nil {
		return nil, err
	}
	found := make([]*Job, len(keys))
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(readers)
	for i, key := range keys {
		reading.Go(func() error {
			record, err := kv.GetJSON[Job](ctx, s.cluster, key)
			switch {
			case errors.Is(err, kv.ErrNotFound), errors.Is(err, kv.ErrCorrupt):
				return nil // a job that cannot be read must not hide the others; Get says what is wrong with it
			case err == nil:
				found[i] = &record.Value
			}
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	var jobs []Job
	for _, job := range found {
		if job != nil {
			jobs = append(jobs, *job)
		}
	}
	slices.SortFunc(jobs, newestFirst)
	return jobs, nil
}

func newestFirst(a, b Job) int { return strings.Compare(placeOf(&b), placeOf(&a)) }

// Cancel ends a job: items in progress are finished, and no others are begun. It returns the job, or ErrNone, or the job together
// with ErrEnded.
func (s *Store) Cancel(ctx context.Context, namespace, id, by string, now time.Time) (Job, error) {
	for range maxWrites {
		job, revision, err := s.read(ctx, namespace, id)
		if err != nil {
			return Job{}, err
		}
		if job.Ended() {
			return job, ErrEnded
		}
		job.Status, job.EndTime, job.CanceledBy = Canceled, now, by // the owner stays: it still has something to record
		if _, err := s.write(ctx, &job, revision); !errors.Is(err, kv.ErrConflict) {
			return job, err
		}
	}
	return Job{}, schedule.Errorf(schedule.CodeUnavailable, "the job is being written too often: try again")
}

// write stores a job that was last written at a revision. It returns the new revision, or kv.ErrConflict.
func (s *Store) write(ctx context.Context, job *Job, revision uint64) (uint64, error) {
	return kv.PutJSON(ctx, s.cluster, subjects.JobKey(job.Namespace, job.ID), job, revision)
}

// remove deletes the record of a job that was last written at a revision.
func (s *Store) remove(ctx context.Context, job *Job, revision uint64) error {
	return s.cluster.Delete(ctx, subjects.JobKey(job.Namespace, job.ID), revision)
}
