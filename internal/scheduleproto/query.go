package scheduleproto

import (
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Query writes a query for schedules in the language of Carillon. The error is about the field query, and says where in the text the mistake is.
func Query(text string) (string, error) {
	q, err := query.ParseTemporal(text)
	if err != nil {
		return "", schedule.Invalid("query", "%s", query.Explain(text, err))
	}
	return q.String(), nil
}
