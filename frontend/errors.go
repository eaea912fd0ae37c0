package frontend

import (
	"fmt"

	"github.com/carillon-scheduler/carillon/schedule"
)

func errNoSchedule(key schedule.Key) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "id",
		Message: fmt.Sprintf("namespace %q has no schedule %q", key.Namespace, key.ID),
	}
}

func errNoNamespace(name string) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "namespace", Message: fmt.Sprintf("there is no namespace %q", name),
	}
}

func errNoBackfill(key schedule.Key, id string) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "backfillId",
		Message: fmt.Sprintf("schedule %q has no backfill or trigger %q in progress", key.ID, id),
	}
}
