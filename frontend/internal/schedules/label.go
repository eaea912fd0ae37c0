package schedules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/schedule"
)

// maxShownLabel is how many bytes of a label's value its event shows.
const maxShownLabel = 100

// errLabeled ends a change to a label that already has this value.
var errLabeled = errors.New("frontend: the label is so already")

// setLabel sets or removes an entry in the memo of a schedule's action.
func (s *Service) setLabel(ctx context.Context, key schedule.Key, requestID string, label *schedule.Label) (jobs.ItemResult, error) {
	_, err := s.change(ctx, change{
		key: key, requestID: requestID, edit: func(e *edit) error { return e.setLabel(label) },
	})
	if errors.Is(err, errLabeled) {
		return jobs.ItemResult{Result: jobs.ItemSkipped, Reason: "its label is so already"}, nil
	}
	return jobs.ItemResult{}, err
}

// setLabel does not change the update time, or what is due would be dropped. It leaves the actions left under a limit alone. Its
// event is an update, but for the generator nothing is updated.
func (e *edit) setLabel(label *schedule.Label) error {
	before, labeled := e.next.Schedule.Action.Memo[label.Name]
	memo := maps.Clone(e.next.Schedule.Action.Memo)
	reason := fmt.Sprintf("label %s removed", label.Name)
	if label.Value == nil {
		if !labeled {
			return errLabeled
		}
		delete(memo, label.Name)
	} else {
		value, err := json.Marshal(*label.Value)
		if err != nil {
			return err
		}
		if bytes.Equal(before, value) {
			return errLabeled
		}
		if memo == nil {
			memo = map[string]json.RawMessage{}
		}
		memo[label.Name] = value
		reason = fmt.Sprintf("label %s set to %q", label.Name, request.Cut(*label.Value, maxShownLabel))
	}
	e.next.Schedule.Action.Memo = memo
	if err := e.next.Schedule.Validate(); err != nil {
		return err
	}
	e.say(schedule.EventUpdated, reason)
	return nil
}
