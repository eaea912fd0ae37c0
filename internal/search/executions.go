package search

import (
	"context"
	"database/sql"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// ExecutionPosition is the place of an execution in the order of a query. The zero ExecutionPosition is the beginning.
type ExecutionPosition struct {
	// RunID is the ID of the run.
	RunID string
	// Closed and Started are when it ended and began, in microseconds since 1970, if the order is the usual one. Closed is the largest
	// int64 if it has not ended.
	Closed, Started int64
	// Value is the value that the list is ordered by, if the query has an order: a string, an int64, a float64, or nil if there is no value.
	Value any
}

// FoundExecution is an execution that a query has found.
type FoundExecution struct {
	Info *workflow.WorkflowExecutionInfo
	ExecutionPosition
}

// Executions returns the executions of a namespace for which a query holds, in the order of the query: at most limit of those after a
// position. Without an order in the query, those that are open come first, then those that have ended, the last one first; among equals, the
// one that began last comes first. A page begins after a position and not at a number, so executions that come and go elsewhere neither
// repeat nor hide others.
func (x *Index) Executions(
	ctx context.Context, namespace string, q *query.Query, after ExecutionPosition, limit int,
) (found []FoundExecution, upTo time.Time, err error) {
	err = x.read(x.executions, func(d *database) (err error) {
		upTo = x.executions.status.upTo()
		found, err = d.executions(ctx, namespace, q, after, limit)
		return err
	})
	return found, upTo, err
}

// executions first reads those that have a value to order by, and then those without.
func (d *database) executions(
	ctx context.Context, namespace string, q *query.Query, after ExecutionPosition, limit int,
) ([]FoundExecution, error) {
	if q.Order == nil {
		return d.executionsOf(ctx, namespace, q, limit, "NULL", "closed DESC, start_time DESC, run_id DESC", func(s *statement) {
			if after.RunID != "" {
				s.add(" AND (closed, start_time, run_id) < (?, ?, ?)", after.Closed, after.Started, after.RunID)
			}
		})
	}
	if q.Order.Field.Source == query.Custom {
		return d.executionsByAttribute(ctx, namespace, q, after, limit)
	}
	column := executionColumns[q.Order.Field.Name]
	if column == closeTime {
		column = closed
	}
	present, missing := presence(column)
	more, direction := ">", ""
	if q.Order.Desc {
		more, direction = "<", " DESC"
	}
	var found []FoundExecution
	if after.RunID == "" || after.Value != nil {
		var err error
		found, err = d.executionsOf(ctx, namespace, q, limit, column, column+direction+", run_id"+direction, func(s *statement) {
			s.add(" AND " + present)
			if after.RunID != "" {
				s.add(" AND ("+column+", run_id) "+more+" (?, ?)", after.Value, after.RunID)
			}
		})
		if err != nil || len(found) == limit {
			return found, err
		}
		after = ExecutionPosition{}
	}
	rest, err := d.executionsOf(ctx, namespace, q, limit-len(found), "NULL", "run_id"+direction, func(s *statement) {
		s.add(" AND " + missing)
		if after.RunID != "" {
			s.add(" AND run_id "+more+" ?", after.RunID)
		}
	})
	return append(found, rest...), err
}

const executionInfo = "run_id, closed, start_time, status, events, bytes, transitions, info"

// executionsOf reads a part of a list that is in one order. begin writes where it begins.
func (d *database) executionsOf(
	ctx context.Context, namespace string, q *query.Query, limit int, value, order string, begin func(*statement),
) (found []FoundExecution, err error) {
	// The rows are found by their numbers first: info is long, and need not be sorted.
	s := d.listStatement(ctx)
	s.add("SELECT " + value + " AS value, " + executionInfo + " FROM executions WHERE number IN (SELECT number FROM executions AS s WHERE ")
	s.scope(namespace, "", q)
	begin(s)
	s.add(" ORDER BY "+order+" LIMIT ?) ORDER BY "+order, limit)
	return d.scanExecutions(ctx, s)
}

func (d *database) scanExecutions(ctx context.Context, s *statement) (found []FoundExecution, err error) {
	rows, err := d.reader.QueryContext(ctx, s.sql.String(), s.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		f, err := scanExecution(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, rows.Err()
}

func scanExecution(rows *sql.Rows) (f FoundExecution, err error) {
	var encoded []byte
	info := &workflow.WorkflowExecutionInfo{}
	var length, bytes, transitions int64
	var status enums.WorkflowExecutionStatus
	err = rows.Scan(&f.Value, &f.RunID, &f.Closed, &f.Started, &status, &length, &bytes, &transitions, &encoded)
	if err == nil {
		err = proto.Unmarshal(encoded, info)
	}
	if err != nil {
		return f, err
	}
	info.Status, info.HistoryLength, info.HistorySizeBytes, info.StateTransitionCount = status, length, bytes, transitions
	if info.CloseTime != nil {
		info.ExecutionDuration = durationpb.New(info.CloseTime.AsTime().Sub(info.ExecutionTime.AsTime()))
	}
	if text, ok := f.Value.([]byte); ok {
		f.Value = string(text)
	}
	f.Info = info
	return f, nil
}
