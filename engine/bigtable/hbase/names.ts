/** Names and numbers of HBase that several files of this folder use. */
const FILTER_PACKAGE = 'org.apache.hadoop.hbase.filter';

export const FILTERS: Readonly<Record<'binary' | 'regex' | 'qualifier', string>> = {
  binary: `${FILTER_PACKAGE}.BinaryComparator`,
  regex: `${FILTER_PACKAGE}.RegexStringComparator`,
  qualifier: `${FILTER_PACKAGE}.QualifierFilter`,
};

/** The service of HBase that checks several conditions and mutates, in one step under one lock. */
export const ENDPOINT = {
  className: 'org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint',
  serviceName: 'MultiRowMutationService',
  methodName: 'MutateRows',
} as const;

export const COMPARE = { equal: 2, notEqual: 3 } as const;
export const MUTATION = { put: 2, delete: 3 } as const;
export const DELETE = { oneVersion: 0, multipleVersions: 1 } as const;
