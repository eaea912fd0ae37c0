package search

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Runs that have ended go from the index when their namespace has kept them for its retention. History removes them from the journals at about the same
// time, and nothing in a journal says so. So both follow from the time of the end alone, and an index that is built anew comes to the same.

const (
	// expireEvery is how often expired runs are looked for.
	expireEvery = 5 * time.Second
	// expireAtOnce is how many are removed in one transaction, and expireMost how many before anything else is done.
	expireAtOnce = 2000
	expireMost   = 20_000
)

// keeps stores the retention of a namespace; nil removes it.
func keeps(ctx context.Context, tx *sql.Tx, namespace string, record *schedule.Namespace) error {
	if record == nil {
		_, err := tx.ExecContext(ctx, "DELETE FROM retentions WHERE namespace = ?", namespace)
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO retentions VALUES (?, ?)", namespace, record.Limits.KeepsRuns().Microseconds())
	return err
}

// expire implements contents: it removes runs that have expired.
func (j *journals) expire(ctx context.Context, db *database, now time.Time) error {
	if now.Sub(j.expired) < expireEvery {
		return nil
	}
	j.expired = now
	for removed := 0; removed < expireMost; removed += expireAtOnce {
		var n int64
		err := db.write(ctx, func(tx *sql.Tx) (err error) {
			n, err = expireSome(ctx, tx, now)
			return err
		})
		if err != nil {
			return storeError{fmt.Errorf("remove expired runs: %w", err)}
		}
		if n < expireAtOnce {
			return nil
		}
	}
	j.expired = time.Time{} // there are more
	return nil
}

// expireSome removes some runs that have expired, and returns how many.
func expireSome(ctx context.Context, tx *sql.Tx, now time.Time) (int64, error) {
	numbers, err := expiredRuns(ctx, tx, now)
	if err != nil {
		return 0, err
	}
	for _, number := range numbers {
		if err := removeExecutions(ctx, tx, "number = ?", number); err != nil {
			return 0, err
		}
	}
	return int64(len(numbers)), nil
}

// expiredRuns returns the numbers of some runs that have expired.
func expiredRuns(ctx context.Context, tx *sql.Tx, now time.Time) (numbers []int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT number FROM retentions CROSS JOIN executions
		ON executions.namespace = retentions.namespace AND closed < ? - keep LIMIT ?`, now.UnixMicro(), expireAtOnce)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var number int64
		if err := rows.Scan(&number); err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	return numbers, rows.Err()
}

// removeExecutions removes the runs that a condition selects.
func removeExecutions(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
	for _, statement := range []string{
		"DELETE FROM execution_attributes WHERE owner IN (SELECT number FROM executions WHERE " + condition + ")",
		"DELETE FROM executions WHERE " + condition,
	} {
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
	}
	return nil
}
