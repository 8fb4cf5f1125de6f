/** The words that names are made of: our own short lists, combined where more are needed. */

export const FIRST_NAMES: readonly string[] = split(
  'Ada Alan Alba Amos Anna Arno Asha Bela Bert Cara Carl Cleo Dana Dora Egon Elif Ella Emil Enzo Erik ' +
    'Esme Eva Finn Gita Gwen Hana Hugo Ida Igor Inga Ivo Jana Jens Jona Judy Juno Kai Kira Lars Lena ' +
    'Levi Lola Luca Lynn Mara Mila Nils Nora Olga Omar Otto Paco Pia Remo Rosa Ruth Sami Sina Tara Theo ' +
    'Uma Vera Wim Yara',
);

export const LAST_NAMES: readonly string[] = split(
  'Abbott Adler Ahmed Baker Barros Becker Bellini Berg Blake Bloom Bonnet Braun Carver Castro Chandra Chen ' +
    'Cole Costa Dahl Dietz Dubois Duran Eriksen Faber Farah Fischer Fontana Foster Frank Garcia Gerber Grant ' +
    'Gupta Haas Hansen Hayes Hughes Ito Jensen Kaya Keller Kim Kovacs Lang Larsen Lehmann Lopez Marsh Mehta ' +
    'Meyer Moreau Nakata Novak Olsen Park Patel Quist Reyes Rossi Sato Silva Torres Vogel Wagner Weber Young ' +
    'Zeller',
);

/** First, second and third words of company names. */
export const COMPANY_FIRST: readonly string[] = split(
  'Amber Arctic Atlas Aurora Beacon Birch Bright Canyon Cedar Cobalt Copper Coral Crystal Delta Eagle Ember ' +
    'Falcon Forest Garnet Glacier Golden Granite Harbor Hazel Horizon Indigo Ivory Jade Juniper Keystone ' +
    'Lantern Laurel Lunar Maple Marble Meadow Meridian Mirror Northern Oak Ocean Onyx Orchid Pacific Pearl ' +
    'Pine Polar Prairie Quartz Raven River Saffron Sapphire Silver Solar Summit Terra Valley Violet Willow',
);
export const COMPANY_SECOND: readonly string[] = split(
  'Airways Analytics Bakeries Batteries Biotech Breweries Cables Capital Chemicals Devices Drilling Dynamics ' +
    'Electric Energy Engines Fabrics Foods Freight Games Glass Health Homes Instruments Labs Lighting Logistics ' +
    'Machines Markets Materials Media Metals Mills Motors Networks Optics Paper Pharma Plastics Press Robotics ' +
    'Seeds Software Steel Systems Textiles Tools Toys Water Wireless Works',
);
export const COMPANY_THIRD: readonly string[] = split('Inc Corp Group Holdings Ltd');

export const SECTOR_NAMES: readonly string[] = [
  'Basic Materials',
  'Capital Goods',
  'Conglomerates',
  'Consumer Cyclical',
  'Consumer Staples',
  'Energy',
  'Financial',
  'Healthcare',
  'Services',
  'Technology',
  'Transportation',
  'Utilities',
];

/** The last words of the names of industries, after the name of the sector. */
export const INDUSTRY_KINDS: readonly string[] = split(
  'Production Supply Trade Equipment Research Storage Retail Leasing Recycling',
);

export const STREETS: readonly string[] = split(
  'Acacia Bridge Castle Chapel Church Elm Garden High Hill Lake Market Mill Park Pond School Station Water West',
);

export const TOWNS: readonly string[] = split(
  'Ashford Brookfield Clifton Dover Eastwick Fairview Greenville Hillside Kingston Lakewood Milton Newport ' +
    'Oakdale Preston Quincy Riverton Salem Thornton Upton Westfield',
);

export const NEWS_WORDS: readonly string[] = split(
  'after amid analysts announced annual board buys cautious chief company costs cuts demand dividend doubts ' +
    'earnings exceeds expects expands falls first for forecast fourth from gains growth holds in investors jumps ' +
    'launches lower margin market merger new of offers on orders outlook partners plans plant posts price profit ' +
    'quarter raises record regulator reports results revenue rises sales sees sells shares slow small strong the to ' +
    'trading under up warns weak with year',
);

function split(words: string): readonly string[] {
  return words.split(' ');
}
