package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

const (
	// fileName is the index file in its folder. SQLite puts others beside it whose names begin alike.
	fileName = "search.db"
	// writerCache and readerCache bound the memory of a connection, in kibibytes. The values are negative because SQLite wants
	// that.
	writerCache, readerCache = "-16384", "-8192"
	// fewSchedules is the break-even number of schedules. For that many it takes equally long to find all that match a condition
	// on attributes and sort them, or to try the schedules in order until a page is full, if there are as many as fewSchedulesOf.
	fewSchedules, fewSchedulesOf = 3000, 100_000
)

// errOther means that a file belongs to another version or installation.
var errOther = errors.New("it is of another version or installation")

// database is an open index: one connection that writes, and some that read meanwhile.
type database struct {
	writer, reader *sql.DB
	put            statements
	// few is up to how many schedules a condition on attributes is where a query begins. For conditions on columns of schedules
	// it is a tenth: reading in order is several times as fast as reading out of order.
	few int
}

// openDatabase opens the index of an installation, or makes an empty one. A kept index survives a loss of power, but may then be
// in the state of a moment before.
func openDatabase(ctx context.Context, dir, cluster string, kept bool) (*database, error) {
	path := filepath.Join(dir, fileName)
	d := &database{few: fewSchedules}
	err := d.open(path, kept)
	if err == nil {
		err = d.prepare(ctx, cluster)
	}
	if err == nil {
		d.put, err = prepareStatements(ctx, d.writer)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), d.close())
	}
	return d, nil
}

func (d *database) open(path string, kept bool) (err error) {
	synchronous := "off"
	if kept {
		synchronous = "normal"
	}
	d.writer, err = sql.Open("sqlite", dataSource(path, "journal_mode(wal)", "synchronous("+synchronous+")",
		"cache_size("+writerCache+")", "temp_store(memory)", "busy_timeout(5000)"))
	if err != nil {
		return err
	}
	d.writer.SetMaxOpenConns(1)
	d.reader, err = sql.Open("sqlite", dataSource(path, "query_only(true)", "cache_size("+readerCache+")",
		"temp_store(memory)", "busy_timeout(5000)"))
	if err != nil {
		return err
	}
	d.reader.SetMaxOpenConns(max(2, runtime.GOMAXPROCS(0)))
	d.reader.SetMaxIdleConns(2)
	return nil
}

// dataSource returns the name of a database for the driver, with SQLite settings.
func dataSource(path string, pragmas ...string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_pragma": pragmas,
	}.Encode()}).String()
}

// prepare makes the tables of a new file, and refuses a file that belongs to something else.
func (d *database) prepare(ctx context.Context, cluster string) error {
	var tables int
	if err := d.writer.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		return d.write(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, schema); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO meta VALUES (1, ?, ?)", schemaVersion, cluster)
			return err
		})
	}
	var version int
	var owner string
	err := d.writer.QueryRowContext(ctx, "SELECT version, cluster FROM meta").Scan(&version, &owner)
	if err == nil && (version != schemaVersion || owner != cluster) {
		return errOther
	}
	return err
}

// complete makes what queries need to be fast, once the tables are filled, and lets SQLite analyse their contents.
func (d *database) complete(ctx context.Context, indexes string) error {
	_, err := d.writer.ExecContext(ctx, indexes+"PRAGMA analysis_limit = 1000; PRAGMA optimize = 0x10002;"+reload)
	return err
}

// reload changes the schema and changes it back. Connections read the statistics of the tables only together with the schema;
// without a change they would plan by the contents at the time they were opened.
const reload = "CREATE TABLE changed (only INTEGER); DROP TABLE changed"

// write runs a transaction: all of it or nothing.
func (d *database) write(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (d *database) close() error {
	var errs []error
	for _, db := range []*sql.DB{d.reader, d.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// removeDatabase removes the files of an index.
func removeDatabase(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), fileName) {
			errs = append(errs, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}
