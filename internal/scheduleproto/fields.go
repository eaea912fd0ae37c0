package scheduleproto

import (
	commonpb "go.temporal.io/api/common/v1"

	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Fields returns the memo and the search attributes of a schedule itself. The memo is not nil; the search attributes are if there are none.
func Fields(s *schedule.Schedule) (*commonpb.Memo, *commonpb.SearchAttributes, error) {
	memo, problem := workflows.Fields(s.Memo)
	if problem != nil {
		return nil, nil, schedule.Errorf(schedule.CodeInternal, "the stored memo cannot be shown: %s %s", problem.Path, problem.Message)
	}
	attributes, problem := workflows.Fields(s.SearchAttributes)
	if problem != nil {
		return nil, nil, schedule.Errorf(schedule.CodeInternal, "the stored search attributes cannot be shown: %s %s", problem.Path,
			problem.Message)
	}
	if len(attributes) == 0 {
		return &commonpb.Memo{Fields: memo}, nil, nil // SDKs tell none from an empty set
	}
	return &commonpb.Memo{Fields: memo}, &commonpb.SearchAttributes{IndexedFields: attributes}, nil
}

// SetFields gives a schedule another memo and other search attributes. What is nil stays as it is.
func SetFields(s *schedule.Schedule, memo *commonpb.Memo, attributes *commonpb.SearchAttributes) (err error) {
	if memo != nil {
		if s.Memo, err = parseFields("memo", memo.Fields); err != nil {
			return err
		}
	}
	if attributes != nil {
		s.SearchAttributes, err = parseFields("searchAttributes", attributes.IndexedFields)
	}
	return err
}
