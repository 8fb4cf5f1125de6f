"""A chain of jobs on Spark: streaming programs in RDD.pipe, with Spark's shuffle between them.

repartitionAndSortWithinPartitions is the shuffle of a MapReduce: records of a key are in one
partition, in order, so the reducer reads equal keys one after the other. All jobs run in one
application, and nothing is written between them.

Argument: a JSON object with inputs and output (paths or URIs), reducers (a number), and jobs (a list
of objects with the commands map and reduce).
"""

import json
import sys

from pyspark import SparkConf, SparkContext

NEWLINE = {"textinputformat.record.delimiter": "\n"}
FORMAT = "org.apache.hadoop.mapreduce.lib.input.TextInputFormat"
TEXT = "org.apache.hadoop.io.Text"
POSITION = "org.apache.hadoop.io.LongWritable"


def lines_of(context, path):
    return context.newAPIHadoopFile(path, FORMAT, POSITION, TEXT, conf=NEWLINE).values()


def key_and_value(line):
    key, _, value = line.partition("\t")
    return key, value


def main(task):
    context = SparkContext(conf=SparkConf().setAppName("mapreduce"))
    lines = context.union([lines_of(context, path) for path in task["inputs"]])
    for job in task["jobs"]:
        shuffled = (
            lines.pipe(job["map"], checkCode=True)
            .map(key_and_value)
            .repartitionAndSortWithinPartitions(task["reducers"])
        )
        lines = shuffled.map("\t".join).pipe(job["reduce"], checkCode=True)
    lines.saveAsTextFile(task["output"])
    context.stop()


main(json.loads(sys.argv[1]))
