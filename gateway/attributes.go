package gateway

import (
	"context"
	"errors"
	"maps"
	"regexp"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// maxAttributes is how many search attributes of its own a namespace may have.
	maxAttributes = 100
	// maxAttributeWrites bounds the attempts to write the attributes of a namespace that others write at the same time.
	maxAttributeWrites = 16
)

// systemAttributes are the search attributes that every execution has, and those that SDKs and the service give to some.
var systemAttributes = map[string]enums.IndexedValueType{
	"WorkflowId":           enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RunId":                enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WorkflowType":         enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TaskQueue":            enums.INDEXED_VALUE_TYPE_KEYWORD,
	"ExecutionStatus":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"StartTime":            enums.INDEXED_VALUE_TYPE_DATETIME,
	"ExecutionTime":        enums.INDEXED_VALUE_TYPE_DATETIME,
	"CloseTime":            enums.INDEXED_VALUE_TYPE_DATETIME,
	"ExecutionDuration":    enums.INDEXED_VALUE_TYPE_INT,
	"HistoryLength":        enums.INDEXED_VALUE_TYPE_INT,
	"HistorySizeBytes":     enums.INDEXED_VALUE_TYPE_INT,
	"StateTransitionCount": enums.INDEXED_VALUE_TYPE_INT,
	"ParentWorkflowId":     enums.INDEXED_VALUE_TYPE_KEYWORD,
	"ParentRunId":          enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RootWorkflowId":       enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RootRunId":            enums.INDEXED_VALUE_TYPE_KEYWORD,

	"BatcherUser":                enums.INDEXED_VALUE_TYPE_KEYWORD,
	"BinaryChecksums":            enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"BuildIds":                   enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalChangeVersion":      enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalReportedProblems":   enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalScheduledById":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TemporalScheduledStartTime": enums.INDEXED_VALUE_TYPE_DATETIME,
	"TemporalSchedulePaused":     enums.INDEXED_VALUE_TYPE_BOOL,
}

// attributes is the stored record of the search attributes of a namespace: their types by their names.
type attributes struct {
	Types map[string]enums.IndexedValueType `json:"types"`
}

// attributeName is what an attribute may be called, so that it can stand in a query.
var attributeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,127}$`)

// ListSearchAttributes returns the attributes that every execution has, those that have been added to the namespace, and those that its
// executions and schedules have.
func (s *operatorService) ListSearchAttributes(
	ctx context.Context, r *operatorservice.ListSearchAttributesRequest,
) (*operatorservice.ListSearchAttributesResponse, error) {
	response := &operatorservice.ListSearchAttributesResponse{SystemAttributes: systemAttributes}
	if r.Namespace == "" {
		return response, nil
	}
	stored, err := s.attributes(ctx, r.Namespace)
	if err != nil {
		return nil, err
	}
	found, err := s.foundAttributes(ctx, r.Namespace)
	response.CustomAttributes = maps.Clone(found)
	if response.CustomAttributes == nil {
		response.CustomAttributes = map[string]enums.IndexedValueType{}
	}
	maps.Copy(response.CustomAttributes, stored.Value.Types)
	return response, err
}

// attributes reads the attributes of a namespace.
func (g *Gateway) attributes(ctx context.Context, namespace string) (kv.Record[attributes], error) {
	stored, err := kv.GetJSON[attributes](ctx, g.config.Cluster, subjects.SearchAttributesKey(namespace))
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	if stored.Value.Types == nil {
		stored.Value.Types = map[string]enums.IndexedValueType{}
	}
	return stored, err
}

// AddSearchAttributes lets the executions of a namespace have further attributes.
func (s *operatorService) AddSearchAttributes(
	ctx context.Context, r *operatorservice.AddSearchAttributesRequest,
) (*operatorservice.AddSearchAttributesResponse, error) {
	if len(r.SearchAttributes) == 0 {
		return nil, serviceerror.NewInvalidArgument("SearchAttributes are not set on request.")
	}
	for name, kind := range r.SearchAttributes {
		if err := checkAttribute(name, kind); err != nil {
			return nil, err
		}
	}
	return &operatorservice.AddSearchAttributesResponse{}, s.changeAttributes(ctx, r.Namespace, func(types map[string]enums.IndexedValueType) error {
		for name, kind := range r.SearchAttributes {
			if known, exists := types[name]; exists && known != kind {
				return serviceerror.NewAlreadyExistsf("Search attribute %s already exists with type %s.", name, known)
			}
		}
		maps.Copy(types, r.SearchAttributes)
		if len(types) > maxAttributes {
			return serviceerror.NewFailedPreconditionf("a namespace has %d search attributes at most", maxAttributes)
		}
		return nil
	})
}

// checkAttribute refuses what no attribute can be.
func checkAttribute(name string, kind enums.IndexedValueType) error {
	_, isKind := enums.IndexedValueType_name[int32(kind)]
	switch _, isSystem := systemAttributes[name]; {
	case isSystem:
		return serviceerror.NewInvalidArgumentf("Search attribute %s is reserved by system.", name)
	case !attributeName.MatchString(name):
		return serviceerror.NewInvalidArgument("the name of a search attribute has letters, digits, - and _, and begins with a letter")
	case !isKind || kind == enums.INDEXED_VALUE_TYPE_UNSPECIFIED:
		return serviceerror.NewInvalidArgumentf("Unknown type of search attribute %s.", name)
	}
	return nil
}

// RemoveSearchAttributes takes attributes away from a namespace. Executions that have them keep them.
func (s *operatorService) RemoveSearchAttributes(
	ctx context.Context, r *operatorservice.RemoveSearchAttributesRequest,
) (*operatorservice.RemoveSearchAttributesResponse, error) {
	if len(r.SearchAttributes) == 0 {
		return nil, serviceerror.NewInvalidArgument("SearchAttributes are not set on request.")
	}
	return &operatorservice.RemoveSearchAttributesResponse{}, s.changeAttributes(ctx, r.Namespace, func(types map[string]enums.IndexedValueType) error {
		for _, name := range r.SearchAttributes {
			if _, exists := types[name]; !exists {
				return serviceerror.NewNotFoundf("Search attribute %s doesn't exist.", name)
			}
			delete(types, name)
		}
		return nil
	})
}

// changeAttributes writes the attributes of a namespace after an edit, which may run again.
func (s *operatorService) changeAttributes(
	ctx context.Context, namespace string, edit func(map[string]enums.IndexedValueType) error,
) error {
	for range maxAttributeWrites {
		stored, err := s.attributes(ctx, namespace)
		if err != nil {
			return err
		}
		before := len(stored.Value.Types)
		if err := edit(stored.Value.Types); err != nil || len(stored.Value.Types) == before {
			return err
		}
		_, err = kv.PutJSON(ctx, s.config.Cluster, subjects.SearchAttributesKey(namespace), &stored.Value, stored.Revision)
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
	return serviceerror.NewUnavailable("the search attributes are being changed by too many others: try again")
}
