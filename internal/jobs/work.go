package jobs

import "context"

// Work is what the jobs of a kind do. It must be safe for concurrent use. The job is as it was when the runner took it; nobody
// may change it.
type Work interface {
	// Next returns IDs of items, in ascending order and all greater than after, at most limit. None means that there are no
	// more. A *schedule.Error ends the job as failed, unless its code is unavailable; after any other error it is asked again.
	Next(ctx context.Context, job *Job, after string, limit int) (ids []string, err error)
	// Do settles one item. It may be called again for one that it has settled, and several items are settled at once. A
	// *schedule.Error is an item that has failed, unless its code is unavailable; after any other error it is called again,
	// and the item has failed when that does not help.
	Do(ctx context.Context, job *Job, id string) (Outcome, error)
}

// Reporter is a [Work] that wants to hear of items that have failed, before they are counted. It may hear of one twice.
type Reporter interface {
	Report(ctx context.Context, job *Job, failure Failure) error
}
