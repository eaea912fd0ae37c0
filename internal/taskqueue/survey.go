package taskqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// survey finds the queues that have runs or workers. It finds most by their consumers. Other runs in the stream belong to queues
// that never had a worker. Only if there are such runs, and only until all are accounted for, does it list the subjects of the
// stream.
type survey struct {
	js    jetstream.JetStream
	names subjects.Names
	// strays has the queues without a consumer that were found before.
	strays map[Queue]struct{}
}

// run returns all queues, in order.
func (s *survey) run(ctx context.Context) ([]observation, error) {
	stream, err := s.js.Stream(ctx, s.names.ActionStream())
	if err != nil {
		return nil, fmt.Errorf("taskqueue: %w", err)
	}
	left, err := Queued(ctx, stream, s.names)
	if err != nil {
		return nil, err
	}
	found := map[Queue]observation{}
	consumers := stream.ListConsumers(ctx)
	for info := range consumers.Info() {
		queue, ok := parseFilter(s.names, info.Config)
		if !ok {
			continue
		}
		left -= int(info.NumPending) + info.NumAckPending
		if found[queue], err = s.observe(ctx, queue, info); err != nil {
			return nil, err
		}
	}
	if err := consumers.Err(); err != nil {
		return nil, fmt.Errorf("taskqueue: list consumers: %w", err)
	}
	if err := s.findStrays(ctx, found, left); err != nil {
		return nil, err
	}
	all := make([]observation, 0, len(found))
	for _, o := range found {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b observation) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// Queued returns how many runs of all queues wait or are in progress: the messages of the action stream without its anchor.
func Queued(ctx context.Context, actions jetstream.Stream, names subjects.Names) (int, error) {
	info, err := actions.Info(ctx, jetstream.WithSubjectFilter(names.ActionAnchor()))
	if err != nil {
		return 0, fmt.Errorf("taskqueue: count runs: %w", err)
	}
	return int(info.State.Msgs) - len(info.State.Subjects), nil
}

// observe looks at one queue.
func (s *survey) observe(ctx context.Context, q Queue, info *jetstream.ConsumerInfo) (o observation, err error) {
	o.Queue = q
	if o.Status, err = look(ctx, s.js, s.names, q, info); err != nil {
		return o, err
	}
	o.All, o.First = o.Waiting, o.Oldest
	if o.Held > 0 && !o.Pulling {
		o.First, o.All, err = firstRun(ctx, s.js, s.names, s.names.ActionQueue(q.Namespace, q.Name), 1)
	}
	return o, err
}

// findStrays adds the queues without a consumer. Together they have left runs. It remembers them, because listing the subjects of
// a full stream takes long.
func (s *survey) findStrays(ctx context.Context, found map[Queue]observation, left int) error {
	for queue := range s.strays {
		if _, ok := found[queue]; ok {
			delete(s.strays, queue) // a worker has come
			continue
		}
		n, err := s.stray(ctx, found, queue)
		if err != nil {
			return err
		}
		left -= n
	}
	for offset, more := 0, true; more && left > 0; {
		subjects, total, err := s.subjects(ctx, offset)
		if err != nil {
			return err
		}
		for subject := range subjects {
			queue, ok := parseSubject(s.names, subject)
			if _, known := found[queue]; !ok || known {
				continue
			}
			if _, err := s.stray(ctx, found, queue); err != nil {
				return err
			}
		}
		offset += len(subjects)
		more = len(subjects) > 0 && offset < total
	}
	return nil
}

// stray looks at a queue without a consumer and returns how many runs it has. A queue without runs is forgotten.
func (s *survey) stray(ctx context.Context, found map[Queue]observation, q Queue) (int, error) {
	o, err := s.observe(ctx, q, nil)
	if err != nil {
		return 0, err
	}
	if o.Waiting == 0 {
		delete(s.strays, q)
		return 0, nil
	}
	s.strays[q], found[q] = struct{}{}, o
	return o.Waiting, nil
}

// subjects returns one page of the subjects of the action stream, and the number of subjects on all pages.
func (s *survey) subjects(ctx context.Context, offset int) (page map[string]uint64, total int, err error) {
	request := map[string]any{"subjects_filter": s.names.Actions("*"), "offset": offset}
	reply, err := ask(ctx, s.js, "STREAM.INFO."+s.names.ActionStream(), request)
	if err != nil {
		return nil, 0, err
	}
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		Total int                 `json:"total"`
		State struct {
			Subjects map[string]uint64 `json:"subjects"`
		} `json:"state"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, 0, fmt.Errorf("taskqueue: list subjects: %w", err)
	}
	if answer.Error != nil {
		return nil, 0, fmt.Errorf("taskqueue: list subjects: %w", answer.Error)
	}
	return answer.State.Subjects, answer.Total, nil
}

// parseFilter returns the queue of a consumer that workers share.
func parseFilter(names subjects.Names, config jetstream.ConsumerConfig) (Queue, bool) {
	filter := config.FilterSubject
	if filter == "" && len(config.FilterSubjects) == 1 {
		filter = config.FilterSubjects[0]
	}
	return parseSubject(names, filter)
}

// parseSubject returns the queue of a subject of the action stream.
func parseSubject(names subjects.Names, subject string) (Queue, bool) {
	namespace, name, err := names.QueueOfAction(subject)
	return Queue{Namespace: namespace, Name: name}, err == nil
}
