package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/leader"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The errors of a [Store] beside those of NATS, which may be tried again.
var (
	// ErrNone: there is no such job.
	ErrNone = errors.New("jobs: no such job")
	// ErrEnded: the job has ended.
	ErrEnded = errors.New("jobs: the job has ended")

	errConflict = errors.New("jobs: written by another at the same time")
	errCorrupt  = errors.New("jobs: a record cannot be read")
)

const (
	keyPrefix = "job."
	// listTimeout bounds a list whose context has no deadline.
	listTimeout = 10 * time.Second
	// readers is how many jobs of a list are read at once.
	readers = 16
	// maxWrites bounds the attempts to write a record that its runner writes as well, every second or so.
	maxWrites = 16
)

// Store reads and writes jobs. It is made by [NewStore] and safe for concurrent use.
type Store struct {
	js     jetstream.JetStream
	bucket string
	opened atomic.Pointer[jetstream.KeyValue]
}

// NewStore returns the store of an installation, whose cluster bucket need not exist yet.
func NewStore(js jetstream.JetStream, names subjects.Names) *Store {
	return &Store{js: js, bucket: names.ClusterBucket()}
}

func jobKey(namespace, id string) string { return keyPrefix + namespace + "." + id }

func (s *Store) open(ctx context.Context) (jetstream.KeyValue, error) {
	if bucket := s.opened.Load(); bucket != nil {
		return *bucket, nil
	}
	bucket, err := s.js.KeyValue(ctx, s.bucket)
	if err != nil {
		return nil, fmt.Errorf("jobs: open bucket %s: %w", s.bucket, err)
	}
	s.opened.Store(&bucket)
	return bucket, nil
}

// Create stores a new job, and returns true; or false if there is one of that ID already, which is left as it is.
func (s *Store) Create(ctx context.Context, job Job) (created bool, err error) {
	bucket, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	job.Status = Running
	data, err := json.Marshal(&job)
	if err != nil {
		return false, fmt.Errorf("jobs: encode: %w", err)
	}
	_, err = bucket.Create(ctx, jobKey(job.Namespace, job.ID), data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("jobs: create: %w", err)
	}
	return true, nil
}

// Get returns a job as it was last written, or ErrNone.
func (s *Store) Get(ctx context.Context, namespace, id string) (Job, error) {
	job, _, err := s.read(ctx, namespace, id)
	return job, err
}

// read returns a job and its revision, from the leader: it is read in order to be written, or right after.
func (s *Store) read(ctx context.Context, namespace, id string) (Job, uint64, error) {
	message, err := leader.Last(ctx, s.js, "KV_"+s.bucket, "$KV."+s.bucket+"."+jobKey(namespace, id))
	switch {
	case errors.Is(err, leader.ErrNone), err == nil && len(message.Data) == 0: // an empty one is the trace of a removal
		return Job{}, 0, ErrNone
	case err != nil:
		return Job{}, 0, err
	}
	job, err := decode(message.Data)
	return job, message.Sequence, err
}

// List returns the jobs of a namespace, the newest first. It asks for their names first, since a watch, which is how a bucket
// is listed else, misses those that are written while it begins.
func (s *Store) List(ctx context.Context, namespace string) ([]Job, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	ids, err := s.list(ctx, namespace)
	if err != nil {
		return nil, err
	}
	found := make([]*Job, len(ids))
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(readers)
	for i, id := range ids {
		reading.Go(func() error {
			job, err := s.Get(ctx, namespace, id)
			switch {
			case errors.Is(err, ErrNone), errors.Is(err, errCorrupt):
				return nil // one that cannot be read must not hide the others; Get says what is wrong with it
			case err == nil:
				found[i] = &job
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

// list returns the IDs of the jobs of a namespace, and of some that are gone.
func (s *Store) list(ctx context.Context, namespace string) ([]string, error) {
	stream, err := s.js.Stream(ctx, "KV_"+s.bucket)
	if err != nil {
		return nil, fmt.Errorf("jobs: list: %w", err)
	}
	prefix := "$KV." + s.bucket + "." + jobKey(namespace, "")
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("jobs: list: %w", err)
	}
	var ids []string
	for subject := range info.State.Subjects {
		ids = append(ids, strings.TrimPrefix(subject, prefix))
	}
	return ids, nil
}

func newestFirst(a, b Job) int {
	return cmp.Or(b.CreateTime.Compare(a.CreateTime), strings.Compare(a.ID, b.ID))
}

// Cancel ends a job: items that have been begun are finished, no others are begun. It returns the job, or ErrNone, or the job
// and ErrEnded.
func (s *Store) Cancel(ctx context.Context, namespace, id, by string, now time.Time) (Job, error) {
	for range maxWrites {
		job, revision, err := s.read(ctx, namespace, id)
		if err != nil {
			return Job{}, err
		}
		if job.Ended() {
			return job, ErrEnded
		}
		job.Status, job.EndTime, job.CanceledBy = Canceled, now, by // the owner stays: it has something to note still
		if _, err := s.write(ctx, &job, revision); !errors.Is(err, errConflict) {
			return job, err
		}
	}
	return Job{}, schedule.Errorf(schedule.CodeUnavailable, "the job is being written too often: try again")
}

// write stores a job that was last written at a revision, and returns the new one, or errConflict.
func (s *Store) write(ctx context.Context, job *Job, revision uint64) (uint64, error) {
	bucket, err := s.open(ctx)
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(job)
	if err != nil {
		return 0, fmt.Errorf("jobs: encode: %w", err)
	}
	next, err := bucket.Update(ctx, jobKey(job.Namespace, job.ID), data, revision)
	return next, conflict(err)
}

// remove deletes the record of a job that was last written at a revision.
func (s *Store) remove(ctx context.Context, job *Job, revision uint64) error {
	bucket, err := s.open(ctx)
	if err != nil {
		return err
	}
	err = bucket.Purge(ctx, jobKey(job.Namespace, job.ID), jetstream.LastRevision(revision),
		jetstream.PurgeTTL(subjects.TombstoneAge))
	return conflict(err)
}

func conflict(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return errConflict
	}
	return fmt.Errorf("jobs: write: %w", err)
}

func decode(data []byte) (Job, error) {
	var job Job
	if err := json.Unmarshal(data, &job); err != nil {
		return Job{}, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	return job, nil
}
