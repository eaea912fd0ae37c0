package gateway

import (
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
)

var (
	errNoToken    = serviceerror.NewInvalidArgument("Task token not set on request.")
	errBadToken   = serviceerror.NewInvalidArgument("Error deserializing task token.")
	errOtherToken = serviceerror.NewInvalidArgument("Operation requested with a token from a different namespace.")
)

// workflowOfToken returns the workflow that a task token is about. The namespace of the token must be that of the request.
func workflowOfToken(namespace string, token []byte) (schedule.Key, error) {
	if len(token) == 0 {
		return schedule.Key{}, errNoToken
	}
	parsed, err := execution.ParseToken(token)
	switch {
	case err != nil:
		return schedule.Key{}, err
	case parsed.Namespace != namespace:
		return schedule.Key{}, errOtherToken
	case len(parsed.WorkflowID) > maxText:
		return schedule.Key{}, errBadToken
	}
	return schedule.Key{Namespace: namespace, ID: parsed.WorkflowID}, nil
}

// idOfQuery returns the ID of the query that a task token is about.
func idOfQuery(namespace string, token []byte) (string, error) {
	if len(token) == 0 {
		return "", errNoToken
	}
	parsed, err := execution.ParseQueryToken(token)
	switch {
	case err != nil:
		return "", err
	case parsed.Namespace != namespace:
		return "", errOtherToken
	case len(parsed.QueryID) > maxText:
		return "", errBadToken
	}
	return parsed.QueryID, nil
}
