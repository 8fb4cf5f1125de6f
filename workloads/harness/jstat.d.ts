/** What we use of jstat, which brings no types. */
declare module 'jstat' {
  const jstat: {
    readonly normal: { inv(p: number, mean: number, standardDeviation: number): number };
    readonly studentt: { inv(p: number, degreesOfFreedom: number): number };
  };
  export default jstat;
}
