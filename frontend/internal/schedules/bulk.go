package schedules

import (
	"context"

	"github.com/carillon-scheduler/carillon/frontend/internal/bulk"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/schedule"
)

// newBulk returns the service for the verbs about bulk operations.
func (s *Service) newBulk(config *Config) *bulk.Service {
	return bulk.New(bulk.Config{
		Jobs: config.Jobs, Keys: s.keys, Events: s.events, Logger: s.log, Now: s.now, NewID: s.newID,
		Operations: s.bulkOperations(), ParseQuery: parseQuery, Find: s.found,
	})
}

// bulkOperations are the operations that a user can start for many schedules. Each does what the verb of the same name does.
func (s *Service) bulkOperations() map[schedule.BulkOperation]bulk.Operation {
	return map[schedule.BulkOperation]bulk.Operation{
		schedule.BulkPause:   noted(s.Pause),
		schedule.BulkUnpause: noted(s.Unpause),
		schedule.BulkTrigger: func(ctx context.Context, key schedule.Key, requestID string, task *schedule.BulkTask) (jobs.ItemResult, error) {
			_, err := s.Trigger(ctx, key.Namespace, &schedule.TriggerRequest{
				ID: key.ID, RequestID: requestID, Trigger: schedule.Trigger{Overlap: task.Overlap, Note: task.Note},
			})
			return jobs.ItemResult{}, err
		},
		schedule.BulkDelete: func(ctx context.Context, key schedule.Key, requestID string, task *schedule.BulkTask) (jobs.ItemResult, error) {
			_, err := s.Delete(ctx, key.Namespace, &schedule.DeleteRequest{ID: key.ID, Runs: task.Runs, RequestID: requestID})
			return jobs.ItemResult{}, err
		},
		schedule.BulkSetLabel: func(ctx context.Context, key schedule.Key, requestID string, task *schedule.BulkTask) (jobs.ItemResult, error) {
			return s.setLabel(ctx, key, requestID, task.Label)
		},
	}
}

// noted makes an operation of a verb that takes only a note.
func noted[Reply any](verb func(context.Context, string, *schedule.NoteRequest) (Reply, error)) bulk.Operation {
	return func(ctx context.Context, key schedule.Key, requestID string, task *schedule.BulkTask) (jobs.ItemResult, error) {
		_, err := verb(ctx, key.Namespace, &schedule.NoteRequest{ID: key.ID, Note: task.Note, RequestID: requestID})
		return jobs.ItemResult{}, err
	}
}
